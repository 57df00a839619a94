/**
 * Keeps the library of property tests out of a process that serves: Effect's Schema imports it, and it has a quarter of all
 * files that a start would load. Only `Arbitrary` and `FastCheck` of Effect would use it. Imported before anything of Effect.
 */
void Bun.plugin({
  name: "headgate without fast-check",
  setup: (build) => {
    build.module("fast-check", () => ({ loader: "object", exports: {} }))
  },
})
