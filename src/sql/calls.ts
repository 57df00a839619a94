/**
 * Repositories that run elsewhere, such as in another thread. A call has the names of repository and method, and the
 * arguments. Arguments and result are passed by structured clone. The type of calls is derived from the repositories,
 * so a new method needs no change here.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { finished } from "../services/request/EffectRunner.ts"
import type { StorageUnavailable } from "../services/storage/StorageUnavailable.ts"

/** Methods differ in their parameters, so only the result is constrained. */
type Method = (...parameters: ReadonlyArray<never>) => Effect.Effect<unknown, StorageUnavailable>

/** Objects of such methods, by name. */
export type Repositories<R> = { readonly [Name in keyof R]: { readonly [M in keyof R[Name]]: Method } }

type ParametersOf<F> = F extends (...parameters: infer P) => unknown ? P : never

/**
 * One call of one method: the union over all methods of all repositories. A flat list, because passing it to the thread
 * takes 0.4 µs, and an object with a list of parameters 3 µs.
 */
export type Call<R extends Repositories<R>> = {
  readonly [Name in keyof R]: {
    readonly [M in keyof R[Name]]: readonly [repository: Name, method: M, ...parameters: ParametersOf<R[Name][M]>]
  }[keyof R[Name]]
}[keyof R]

/** The names of all methods by repository, for the side that sends calls. */
export type MethodNames<R extends Repositories<R>> = { readonly [Name in keyof R]: ReadonlyArray<keyof R[Name]> }

// The three casts below rebuild the type of `R` from the names of its members, which are all methods.

export const methodNamesOf = <R extends Repositories<R>>(repositories: R): MethodNames<R> =>
  Object.fromEntries(
    Object.entries<object>(repositories).map(([name, repository]) => [name, Object.keys(repository)]),
  ) as unknown as MethodNames<R>

/** Runs a call to its end. Effect's runtime starts only for a method whose effect is not finished when the method returns. */
export const invoke = <R extends Repositories<R>>(
  repositories: R,
  [repository, method, ...parameters]: Call<R>,
): Exit.Exit<unknown, StorageUnavailable> => {
  const invoked: Method = repositories[repository][method]
  try {
    // A `Call` carries the parameters of its own method, which TypeScript cannot follow through the two names.
    const effect = invoked(...(parameters as unknown as ReadonlyArray<never>))
    return finished(effect) ?? Effect.runSyncExit(effect)
  } catch (defect) {
    return Exit.die(defect)
  }
}

/** Repositories whose methods send calls, and succeed with the reply. */
export const proxyOf = <R extends Repositories<R>>(
  names: MethodNames<R>,
  send: (call: Call<R>) => Effect.Effect<unknown, StorageUnavailable>,
): R => {
  const repositoryOf = (repository: string, methods: ReadonlyArray<string>) =>
    Object.fromEntries(
      methods.map((method) => [
        method,
        (...parameters: ReadonlyArray<unknown>) => send([repository, method, ...parameters] as unknown as Call<R>),
      ]),
    )
  return Object.fromEntries(
    Object.entries<ReadonlyArray<string>>(names as Record<string, ReadonlyArray<string>>).map(([name, methods]) => [
      name,
      repositoryOf(name, methods),
    ]),
  ) as unknown as R
}

/**
 * The same repositories in this process. Each call runs to its end at once, as it does in the thread of a file, so no
 * other statement comes between its own.
 */
export const runToEnd = <R extends Repositories<R>>(repositories: R): R =>
  proxyOf<R>(methodNamesOf(repositories), (call) => Effect.suspend(() => invoke(repositories, call)))
