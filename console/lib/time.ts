/** Times in the viewer's zone, with UTC beside them. The zone can be given, for tests; `undefined` is that of the browser. */

const format = (options: Intl.DateTimeFormatOptions, zone: string | undefined) =>
  new Intl.DateTimeFormat("en-GB", { ...options, hourCycle: "h23", ...(zone === undefined ? {} : { timeZone: zone }) })

const minute: Intl.DateTimeFormatOptions = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }

/** "25 Nov, 23:35", with the year where it is another than that of `now`. */
export const localMinute = (at: Date, now: Date, zone?: string): string =>
  format(at.getUTCFullYear() === now.getUTCFullYear() ? minute : { ...minute, year: "numeric" }, zone).format(at)

/** "25 Nov 2026, 23:35:17". */
export const localSecond = (at: Date, zone?: string): string =>
  format({ ...minute, year: "numeric", second: "2-digit" }, zone).format(at)

/** "2026-11-25 23:35:17 UTC". */
export const utcSecond = (at: Date): string => `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`

/** "in 3 h", "2 min ago": of `at` as seen from `now`. */
export const fromNow = (at: Date, now: Date): string => {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000)
  const size = Math.abs(seconds)
  const [value, unit] =
    size < 60
      ? [size, "s"]
      : size < 3600
        ? [Math.round(size / 60), "min"]
        : size < 48 * 3600
          ? [Math.round(size / 3600), "h"]
          : [Math.round(size / 86_400), "days"]
  return seconds > 0 ? `in ${value} ${unit}` : `${value} ${unit} ago`
}

/** What a field of type `datetime-local` holds for `at`, in the viewer's zone. */
export const toField = (at: Date): string => {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

/** The time that such a field holds; `null` where it holds none. */
export const fromField = (text: string): Date | null => {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? null : at
}
