/** No run of the tests stands for ever (scripts/test.ts, `.ci/run`). Linux only: the processes are found in `/proc`. */
import { describe, expect, test } from "bun:test"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dir, "../..")

/** Longer than a busy machine takes to load a file. */
const silenceSeconds = "60"

const runOf = async (...files: ReadonlyArray<string>) => {
  const run = Bun.spawn(
    [process.execPath, "scripts/test.ts", ...files.map((file) => `./test/scripts/standing/${file}`)],
    {
      cwd: root,
      env: { ...process.env, TEST_SILENCE_S: silenceSeconds, TEST_POSTGRES: "off" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  )
  const [out, err] = await Promise.all([run.stdout.text(), run.stderr.text()])
  return { code: await run.exited, text: out + err }
}

describe.skipIf(process.platform !== "linux").concurrent("a run of the tests", () => {
  test("ends with the file's name when a process of it was stopped", async () => {
    const { code, text } = await runOf("stopped.ts", "passes.ts")
    expect(text).toContain("The tests stand still: nothing was printed for 60 s. In hand:")
    expect(text).toContain("test/scripts/standing/stopped.ts, since ")
    expect(code).toBe(1)
  }, 1_800_000)

  test("ends with the file's name when a file waits at its top level", async () => {
    const { code, text } = await runOf("waits.ts", "passes.ts")
    expect(text).toContain("test/scripts/standing/waits.ts, since ")
    expect(code).toBe(1)
  }, 1_800_000)

  test.each([
    ["alone", ["crashes.ts"], "The run ended before all tests had run."],
    ["beside others", ["crashes.ts", "passes.ts"], "1 fail"],
  ])("fails when a file ends its process, %s", async (_, files, says) => {
    const { code, text } = await runOf(...files)
    expect(text).toContain(says)
    expect(code).toBe(1)
  })

  test("ends as its tests say otherwise", async () => {
    const { code, text } = await runOf("passes.ts")
    expect(text).toContain("1 pass")
    expect(code).toBe(0)
  })
})

/** Runs `.ci/run` with a runner of tests that ends with these codes, one after the other. */
const ciWith = async (...codes: ReadonlyArray<number>) => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-ci-"))
  try {
    mkdirSync(join(folder, ".ci"))
    mkdirSync(join(folder, "bin"))
    await Bun.write(join(folder, ".ci/run"), Bun.file(join(root, ".ci/run")))
    for (const [at, code] of codes.entries()) writeFileSync(join(folder, `code${at}`), String(code))
    const npx = join(folder, "bin/npx")
    // Called as `npx -y bun@… run test`, as `npx -y bun@… run check:full SECONDS`, then as `npx -y bun@… .ci/count.ts REPORT CODE`.
    writeFileSync(
      npx,
      `#!/bin/sh
if [ "$3" != run ]; then echo "counted with $5"; exit "$5"; fi
for at in 0 1; do
  if [ -e code$at ]; then code=$(cat code$at); rm code$at; echo "a run"; exit "$code"; fi
done
`,
    )
    chmodSync(npx, 0o755)
    // They are there, so nothing is installed.
    for (const tool of ["promtool", "chromium"])
      writeFileSync(join(folder, "bin", tool), "#!/bin/sh\n", { mode: 0o755 })
    const run = Bun.spawn(["bash", ".ci/run"], {
      cwd: folder,
      env: { ...process.env, PATH: `${join(folder, "bin")}:${process.env["PATH"]}` },
      stdio: ["ignore", "pipe", "ignore"],
    })
    return (await run.stdout.text()).trim().split("\n")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test.each([
  ["the tests fail, or stand still", [1, 0], ["a run", "counted with 1"]],
  ["the tests and the campaigns pass", [0, 0], ["a run", "a run", "counted with 0"]],
  ["a campaign fails", [0, 1], ["a run", "a run", "counted with 1"]],
] as const)("the script of the build, where %s, runs nothing twice", async (_, codes, expected) => {
  expect(await ciWith(...codes)).toEqual([...expected])
})
