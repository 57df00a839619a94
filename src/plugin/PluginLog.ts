/** The logger that a plugin is given: lines under its id, without secrets, and bounded. */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"
import { hiding } from "../domain/json/redaction.ts"
import { reservedFields } from "../domain/log/events.ts"
import { logLine } from "../process/log/logEvent.ts"

/** Facts by name. Of each line at most 20 are kept, of each text 500 characters. */
export type PluginFields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** Logs one line with the field `plugin`. `text`: at most 1,000 characters are kept. Returns at once, and never throws. */
export type PluginLogs = (text: string, fields?: PluginFields) => void

/** Lines of a plugin, by their level. The gateway takes its secrets out of them. */
export interface PluginLog {
  readonly debug: PluginLogs
  readonly info: PluginLogs
  readonly warn: PluginLogs
  readonly error: PluginLogs
}

/** What the gateway gives to a plugin that it loads. */
export interface PluginContext {
  readonly log: PluginLog
}

const mostText = 1000
const mostFields = 20
const mostOfField = 500

const levels = {
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warn: LogLevel.Warning,
  error: LogLevel.Error,
} as const

const quiet: PluginLogs = () => {}

/** For a plugin that nobody listens to. */
export const unheard: PluginContext = { log: { debug: quiet, info: quiet, warn: quiet, error: quiet } }

/** Makes the context of a plugin. `secrets`: asked at each line, since more of them become known. */
export type MakeContext = (plugin: string, secrets: () => Iterable<string>) => PluginContext

/** Contexts whose lines go where the effect's own lines go. */
export const pluginContexts: Effect.Effect<MakeContext> = Effect.map(Effect.runtime<never>(), (runtime) => {
  const least = FiberRefs.getOrDefault(runtime.fiberRefs, FiberRef.currentMinimumLogLevel)
  const run = Runtime.runSync(runtime)
  return (plugin, secrets) => {
    const at =
      (level: keyof typeof levels): PluginLogs =>
      (text, fields) => {
        if (LogLevel.lessThan(levels[level], least)) return
        try {
          const hide = hiding(secrets())
          run(logLine(level, "plugin_message", shown(text, mostText, hide), { ...shownFields(fields, hide), plugin }))
        } catch {
          // A plugin in JavaScript may pass anything, and a line is not worth a failed hook.
        }
      }
    return { log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } }
  }
})

/** Cut first at some distance, so that a secret is not cut before it is found. */
const shown = (value: unknown, most: number, hide: (text: string) => string): string => {
  const text = hide(String(value).slice(0, 4 * most))
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`
}

const shownFields = (fields: unknown, hide: (text: string) => string): Record<string, unknown> => {
  if (typeof fields !== "object" || fields === null) return {}
  const entries = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .slice(0, mostFields)
    .map(([name, value]) => [ownName(shown(name, 64, hide)), shownValue(value, hide)] as const)
  return Object.fromEntries(entries)
}

/** Not one that the gateway gives itself. */
const ownName = (name: string): string => (reservedFields.has(name) || name === "plugin" ? `${name}_` : name)

const shownValue = (value: unknown, hide: (text: string) => string): unknown => {
  if (value === null || typeof value === "number" || typeof value === "boolean") return value
  return shown(typeof value === "object" ? JSON.stringify(value) : value, mostOfField, hide)
}
