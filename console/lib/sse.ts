/** Events of a stream of server-sent events, cut anywhere. Comments and names of events are passed over: a chunk says what it is. */
export class EventCutter {
  private rest = ""

  /** The data of each event that is whole with `text`. */
  push(text: string): ReadonlyArray<string> {
    const events = `${this.rest}${text}`.replaceAll("\r\n", "\n").split("\n\n")
    this.rest = events.pop() ?? ""
    return events.flatMap((event) => {
      const data = event
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(line.startsWith("data: ") ? 6 : 5))
      return data.length === 0 ? [] : [data.join("\n")]
    })
  }
}
