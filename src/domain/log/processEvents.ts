/** Lines about the process: configuration, plugins, workers, its end. */
import { type LogEvent, nothing } from "./LogEvent.ts"

export const processEvents = {
  configuration_warning: {
    level: "warn",
    text: "{text}",
    means: "Something in the configuration or the environment is probably a mistake.",
    remedy: "Do what the line says. `headgate check` says the same.",
  },
  reloaded: {
    level: "info",
    text: "Configuration reloaded from {file}: {changed}",
    means: "What was changed is in force for new requests.",
    remedy: nothing,
  },
  reload_needs_restart: {
    level: "warn",
    text: "Takes effect at the next start: {members}",
    means:
      "These members were changed in the file, and are read only at the start. `plugins`: also where the files of a plugin were added, removed or changed.",
    remedy: "Restart the gateway when it suits.",
  },
  reload_failed: {
    level: "error",
    text: "The configuration was not reloaded, and stays as it was: {problems}",
    means: "The file has problems. The configuration of before is in force.",
    remedy: "Correct the file, and reload again.",
  },
  plugin_off: {
    level: "error",
    text: "{text}",
    means: "A plugin cannot be used, and is off. The others work.",
    remedy: "`headgate plugin list` says why. `plugins.required` makes it a condition of starting.",
  },
  first_keys_in_file: {
    level: "warn",
    text: "the first keys are in {file}: move it away",
    means: "The first start made keys, and this file is the only place that has them.",
    remedy: "Move the file to where you keep secrets.",
  },
  first_keys_still_in_file: {
    level: "warn",
    text: "the first keys are still in {file}: move it away",
    means: "The same, at a later start.",
    remedy: "Move the file to where you keep secrets.",
  },
  first_keys_not_made: {
    level: "warn",
    text: "no first keys were made (HEADGATE_MANAGEMENT_KEY sets one), since their file cannot be written: {because}",
    means: "Nobody can call the gateway.",
    remedy: "Set HEADGATE_MANAGEMENT_KEY, or let the gateway write into its data folder.",
  },
  worker_serves: {
    level: "info",
    text: "worker {worker} serves",
    means: "A process of `server.workers` listens.",
    remedy: nothing,
  },
  worker_ended: {
    level: "info",
    text: "worker {worker} {how}",
    means: "It was stopped. Another one is started unless the gateway stops.",
    remedy: nothing,
  },
  worker_failed: {
    level: "error",
    text: "worker {worker} {how}",
    means: "It ended by itself, or could not start. It is started again.",
    remedy: "The lines of that worker before this one say why.",
  },
  worker_stuck: {
    level: "error",
    text: "worker {worker} has done nothing for {seconds} seconds and is killed",
    means: "Its event loop stood still, or the process was stopped.",
    remedy: "Look for a plugin that computes for long.",
  },
  blocked: {
    level: "fatal",
    text: "{text}",
    means: "Code held the event loop for ten seconds. The process ends with 70. `hook` names a plugin's hook that ran.",
    remedy: "Report it to the plugin's author.",
  },
  watchdog_failed: {
    level: "error",
    text: "the watchdog has failed: {because}",
    means: "The gateway works, and nothing would end it if its event loop stood still.",
    remedy: "Report it.",
  },
  uncaught_exception: {
    level: "fatal",
    text: "uncaught exception: {because}",
    means: "Such as a throw in a plugin's timer. The gateway lets running requests end, and ends with 70.",
    remedy: "The cause has the place in the code.",
  },
  unhandled_rejection: {
    level: "error",
    text: "unhandled rejection: {because}",
    means: "A promise of a plugin or of the gateway was rejected, and nobody handled it. Nothing is stopped.",
    remedy: "The cause has the place in the code.",
  },
} as const satisfies Readonly<Record<string, LogEvent>>
