/** What is typed as a list: lines, or commas between its members. */
export const listOf = (text: string): ReadonlyArray<string> =>
  text
    .split(/[\n,]/)
    .map((one) => one.trim())
    .filter((one) => one !== "")
