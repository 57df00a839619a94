/** Where the gateway's routes are in an app. */
import * as Context from "effect/Context"

/** A path in front of every route; "": none. */
export type Prefix = "" | `/${string}`

export interface MountPoint {
  readonly prefix: Prefix
  /** Whether the gateway answers an unknown path, with its 404. What it does not answer is the app's. */
  readonly answersUnknown: (url: string) => boolean
  /** Whether `/metrics` is among the routes: it may have a listener of its own. */
  readonly hasMetrics: boolean
  /** Whether the gateway is all that there is at this address, so that `/` is its own. */
  readonly hasRoot: boolean
}

export class Mount extends Context.Tag("headgate/Mount")<Mount, MountPoint>() {}

/** A process of its own: everything that comes is for the gateway. */
export const everything: MountPoint = { prefix: "", answersUnknown: () => true, hasMetrics: true, hasRoot: true }

/** Everything that comes to this handler of an app is for the gateway. */
export const everythingAt = (prefix: Prefix): MountPoint => ({ ...everything, hasRoot: false, prefix: checked(prefix) })

/** The gateway shares an app: below the prefix everything is its own, without one what is below `/api/v1/`. */
export const sharedAt = (prefix: Prefix): MountPoint => {
  const below = prefix === "" ? "/api/v1/" : `${checked(prefix)}/`
  return { prefix, answersUnknown: (url) => url.startsWith(below), hasMetrics: true, hasRoot: false }
}

const checked = (prefix: Prefix): Prefix => {
  if (prefix !== "" && !/^(?:\/[\w~.-]+)+$/.test(prefix)) {
    throw new TypeError(
      `the prefix of the gateway's routes must be a path such as "/llm", without a slash at its end; got ${JSON.stringify(prefix)}`,
    )
  }
  return prefix
}
