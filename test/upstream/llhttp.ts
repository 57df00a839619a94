/** Node's own parser of HTTP/1, as `undici` ships it in WebAssembly: a second opinion on what an answer says. */
const binary: Uint8Array<ArrayBuffer> = require("undici/lib/llhttp/llhttp-wasm.js")

/** Offsets of the memory and functions that are used of it. */
interface Exports {
  readonly memory: WebAssembly.Memory
  readonly llhttp_alloc: (type: number) => number
  readonly llhttp_free: (parser: number) => void
  readonly llhttp_execute: (parser: number, at: number, length: number) => number
  readonly llhttp_finish: (parser: number) => number
  readonly malloc: (length: number) => number
  readonly free: (at: number) => void
}

export interface Opinion {
  readonly accepted: boolean
  readonly complete: boolean
  readonly status: number
  readonly body: string
}

const typeResponse = 2
const paused = 21

let status = 0
let complete = false
let pieces: Array<Buffer> = []

const none = () => 0
const instance = new WebAssembly.Instance(new WebAssembly.Module(binary), {
  env: {
    wasm_on_url: none,
    wasm_on_status: none,
    wasm_on_message_begin: none,
    wasm_on_header_field: none,
    wasm_on_header_value: none,
    wasm_on_headers_complete: (_parser: number, code: number) => {
      status = code
      return 0
    },
    wasm_on_body: (_parser: number, at: number, length: number) => {
      pieces.push(Buffer.from(new Uint8Array(memory().buffer, at, length)))
      return 0
    },
    wasm_on_message_complete: () => {
      complete = status >= 200
      return complete ? paused : 0
    },
  },
})
// The module's interface, which WebAssembly cannot type.
const parser = instance.exports as unknown as Exports
const memory = () => parser.memory

/** What the parser makes of an answer that ends with its connection. */
export const opinionOf = (bytes: Buffer): Opinion => {
  status = 0
  complete = false
  pieces = []
  const state = parser.llhttp_alloc(typeResponse)
  const at = parser.malloc(bytes.length)
  new Uint8Array(memory().buffer, at, bytes.length).set(bytes)
  const error = parser.llhttp_execute(state, at, bytes.length)
  const finished = error === 0 && !complete ? parser.llhttp_finish(state) : error
  parser.free(at)
  parser.llhttp_free(state)
  const accepted = finished === 0 || (finished === paused && complete)
  return { accepted, complete, status, body: Buffer.concat(pieces).toString("latin1") }
}
