/** Numbers as people read them, with their units. */

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 })

/** "1,234,567". */
export const count = (value: number): string => grouped.format(value)

const steps: ReadonlyArray<readonly [size: number, unit: string]> = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
]

/** "1.23 M", for tiles and axes; whole below ten thousand. */
export const shortCount = (value: number): string => {
  if (Math.abs(value) < 10_000) return count(value)
  const [size, unit] = steps.find(([least]) => Math.abs(value) >= least) ?? [1, ""]
  const scaled = value / size
  return `${scaled.toFixed(Math.abs(scaled) < 10 ? 2 : Math.abs(scaled) < 100 ? 1 : 0)} ${unit}`
}

/** Milliseconds: "0.8 ms", "812 ms", "1.24 s", "3 min 5 s". */
export const duration = (milliseconds: number): string => {
  if (milliseconds === 0) return "0 ms"
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 2 : 1)} s`
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return `${Math.floor(minutes / 1440)} days`
}

/** A share from 0 to 1: "12.3 %". Below a tenth of a percent "< 0.1 %", so that some is not shown as none. */
export const share = (value: number): string => {
  if (value === 0) return "0 %"
  if (value < 0.001) return "< 0.1 %"
  return `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`
}

/** "1.5 GiB". */
export const bytes = (value: number): string => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"]
  const at = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10))
  const scaled = value / 1024 ** at
  return `${at === 0 || scaled >= 100 ? Math.round(scaled) : scaled.toFixed(1)} ${units[at]}`
}

/** `1 request`, `2 requests`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`
