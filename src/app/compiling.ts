/**
 * How eagerly JavaScriptCore compiles. A start, a stop and most commands run most of their code once, and compiling that takes a
 * fifth to a third of their processor time. See bench/history.md, "With fewer objects".
 */

/** Functions stay in the interpreter twenty times as long. */
export const compileLess = (): void => Bun.unsafe.setJITPolicy(20)

export const compileAsUsual = (): void => Bun.unsafe.setJITPolicy(1)
