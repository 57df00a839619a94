/**
 * Formats float32 numbers with the fewest digits that read back as the same number, whether read as float32 or as
 * double. Writes bytes, because a batch of vectors has millions of numbers.
 */

const powers = Float64Array.from({ length: 23 }, (_, at) => 10 ** at)
/** The most significant digits that a float32 needs. */
const mostDigits = 9
/** The most bytes that one number takes, including the comma after it. */
export const longestNumber = 32

const zero = 0x30
const dot = 0x2e
const minus = 0x2d
const comma = 0x2c

const scratch = new Float32Array(1)
const bits = new Uint32Array(scratch.buffer)

/** The float32 with this bit pattern. */
const ofBits = (of: number): number => {
  bits[0] = of
  return scratch[0] ?? 0
}

/**
 * Writes the numbers from `from` to `to`, separated by commas, and returns the position after the last one. All
 * numbers must be finite. `out` must be large enough for `longestNumber` bytes per number.
 */
export const writeFloats = (floats: Float32Array, from: number, to: number, out: Uint8Array, start: number): number => {
  let at = start
  for (let index = from; index < to; index++) {
    if (index > from) out[at++] = comma
    at = writeFloat(floats[index] ?? 0, out, at)
  }
  return at
}

const writeFloat = (float: number, out: Uint8Array, start: number): number => {
  let at = start
  if (float < 0 || Object.is(float, -0)) out[at++] = minus
  const size = Math.abs(float)
  if (size === 0) {
    out[at++] = zero
    return at
  }
  // Numbers outside this range are rare in vectors. Within it, all powers of ten are exact, and so are products up to
  // the last bit of a double.
  if (size < 1e-7 || size >= 1e9) return writeText(shortest(size), out, at)
  scratch[0] = size
  const own = bits[0] ?? 0
  // Every number between these midpoints to the neighbors rounds to this float32.
  const low = (size + ofBits(own - 1)) / 2
  const high = (size + ofBits(own + 1)) / 2
  let decimals = 0
  while (decimals < 22 && size * (powers[decimals] ?? 0) < 1e8) decimals++
  let digits = Math.round(size * (powers[decimals] ?? 0))
  // Nine digits always suffice. Tries fewer, one digit at a time.
  for (let tried = decimals - 1; tried >= 0; tried--) {
    const power = powers[tried] ?? 0
    const fewer = Math.round(size * power)
    const read = fewer / power
    if (!(low < read && read < high)) break
    digits = fewer
    decimals = tried
  }
  return writeDecimal(digits, decimals, out, at)
}

/** Writes `digits` divided by ten to the power of `decimals`. */
const writeDecimal = (digits: number, decimals: number, out: Uint8Array, start: number): number => {
  const power = powers[decimals] ?? 0
  const whole = Math.floor(digits / power)
  let at = writeWhole(whole, out, start)
  if (decimals === 0) return at
  out[at++] = dot
  const end = at + decimals
  // It is below 2^31, so integer division works.
  let rest = (digits - whole * power) | 0
  for (let place = end - 1; place >= at; place--) {
    const next = (rest / 10) | 0
    out[place] = zero + (rest - next * 10)
    rest = next
  }
  return end
}

const writeWhole = (whole: number, out: Uint8Array, start: number): number => {
  if (whole < 10) {
    out[start] = zero + whole
    return start + 1
  }
  return writeText(String(whole), out, start)
}

const writeText = (text: string, out: Uint8Array, start: number): number => {
  for (let at = 0; at < text.length; at++) out[start + at] = text.charCodeAt(at)
  return start + text.length
}

/** The slow path, for any positive number. */
const shortest = (size: number): string => {
  for (let digits = 1; digits < mostDigits; digits++) {
    const read = Number(size.toPrecision(digits))
    if (Math.fround(read) === size) return String(read)
  }
  return String(Number(size.toPrecision(mostDigits)))
}
