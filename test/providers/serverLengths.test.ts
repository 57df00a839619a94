/** Tokens that models of local servers hold, as their listings say it. */
import { expect, test } from "bun:test"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { providerOfPlugin } from "../support/hosts/providers.ts"

const lengths = async (plugin: string, data: ReadonlyArray<JsonObject>) => {
  const { listModels } = await providerOfPlugin(plugin)
  return listModels?.decode({ object: "list", data })?.map(({ context_length: length }) => length)
}

test.each(["vllm", "sglang"])("%s: an adapter holds what its base model holds", async (plugin) => {
  const base = { id: "qwen", owned_by: plugin, max_model_len: 8192 }
  const adapter = { id: "sql-lora", owned_by: plugin, max_model_len: null, parent: "qwen", root: "/loras/sql" }
  expect(await lengths(plugin, [base, adapter])).toEqual([8192, 8192])
})

test.each([
  [["--ctx-size", "8192"], 8192],
  [["-m", "a.gguf", "-c", "65536"], 65_536],
  [["-c", "0"], 4096],
  [["-c"], 4096],
])("llamacpp: a preset that is not loaded yet holds what %j starts it with", async (args, length) => {
  const entry = { id: "qwen", owned_by: "llamacpp", meta: { n_ctx_train: 4096 }, status: { value: "unloaded", args } }
  expect(await lengths("llamacpp", [entry])).toEqual([length])
})
