/** A command did not do what it was asked. One line for the terminal, and the exit code, as sysexits.h has them. */
import * as Data from "effect/Data"
import { type Problem, sentence } from "../domain/json/Problem.ts"
import { plain } from "../process/terminal.ts"

export const exitCodes = {
  /** The gateway refused, or a check found something. */
  failed: 1,
  usage: 64,
  badFile: 65,
  noFile: 66,
  noGateway: 69,
  /** Something is in use, or cannot be written. */
  cannotWrite: 73,
  badConfig: 78,
} as const

export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly code: (typeof exitCodes)[keyof typeof exitCodes]
  readonly message: string
}> {}

export const wrongUse = (message: string): CommandFailed => new CommandFailed({ code: exitCodes.usage, message })

/** The configuration here cannot be used. */
export const badConfig = (problems: ReadonlyArray<Problem>): CommandFailed =>
  new CommandFailed({ code: exitCodes.badConfig, message: plain(sentence(problems)) })
