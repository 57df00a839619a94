/**
 * What the program has when it runs from its bundle. `scripts/bundle.ts` writes another text in place of this one into the bundle;
 * a program that runs from its sources imports the files.
 */

export type Load = () => Promise<Record<string, unknown>>

export const isBundled: boolean = false

/** The modules that a configuration or a plugin may import, by their names: they must be the instances of the program. */
export const modules: ReadonlyMap<string, Load> = new Map()

/** The plugins of this package, by the path of the file. */
export const plugins: ReadonlyMap<string, Load> = new Map()
