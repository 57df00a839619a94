/** What a webhook is sent. The same alert in the same state has the same body each time. Pure. */
import type { Alert, AlertState } from "./Alert.ts"

/** An alert as it was kept. */
export interface KeptAlert {
  /** The same for every repetition, and for both states. */
  readonly id: string
  readonly alert: Alert
  /** The machine that has seen it, and the id of the installation. */
  readonly instance: string
  readonly installation: string
  /** Unix milliseconds. */
  readonly createdAt: number
  /** `null`: it lasts, or it is no state. */
  readonly resolvedAt: number | null
}

const time = (at: number): string => new Date(at).toISOString()

const sentence = ({ text }: Alert): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

const summary = (alert: Alert, state: AlertState): string =>
  state === "resolved" ? `No more: ${alert.text}.` : sentence(alert)

export const jsonBody = ({ id, alert, instance, installation, resolvedAt }: KeptAlert, state: AlertState): string =>
  JSON.stringify({
    alert_id: id,
    state,
    rule: alert.rule,
    severity: alert.severity,
    subject: alert.subject,
    text: summary(alert, state),
    value: alert.value,
    threshold: alert.threshold,
    unit: alert.unit,
    since: time(alert.since),
    resolved_at: state === "resolved" && resolvedAt !== null ? time(resolvedAt) : null,
    period: alert.period,
    instance,
    installation,
  })

/** Slack reads these three in every text: https://api.slack.com/reference/surfaces/formatting#escaping. */
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** A text of Slack's blocks has at most 3,000 characters, and one that is escaped is up to five times as long. */
const longestText = 500

/** `verbatim`: Slack makes no links and mentions (`@channel`, an address) of what a name has, unless it is marked as such. */
export const slackBody = ({ id, alert, instance, installation, resolvedAt }: KeptAlert, state: AlertState): string => {
  const text = escaped(summary(alert, state).slice(0, longestText).toWellFormed())
  const title = state === "resolved" ? "Resolved" : alert.severity === "critical" ? "Critical" : "Warning"
  const until = state === "resolved" && resolvedAt !== null ? ` · until ${time(resolvedAt)}` : ""
  const context = escaped(`${alert.rule} · since ${time(alert.since)}${until} · ${instance} · ${installation} · ${id}`)
  return JSON.stringify({
    text: `${title}: ${text}`,
    blocks: [
      { type: "section", text: { type: "mrkdwn", verbatim: true, text: `*${title}*\n${text}` } },
      { type: "context", elements: [{ type: "mrkdwn", verbatim: true, text: context }] },
    ],
  })
}
