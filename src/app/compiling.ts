/**
 * How eagerly JavaScriptCore compiles. A start runs most of its code once, and compiling that takes a fifth of the start's
 * processor time. See bench/README.md, "With fewer objects".
 */

/** While the gateway starts: functions stay in the interpreter twenty times as long. */
export const compileLess = (): void => Bun.unsafe.setJITPolicy(20)

export const compileAsUsual = (): void => Bun.unsafe.setJITPolicy(1)
