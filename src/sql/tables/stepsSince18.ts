/** The later steps of the tables: records of requests, alerts, sessions, sums by hour, live requests, kept answers. */
import { inOrder } from "./migrationStep.ts"

const hourlyFigures = (integer: string): string =>
  ["requests", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost", "upstream_cost"]
    .map((name) => `${name} ${integer} NOT NULL`)
    .join(", ")

/** By number and name. */
export const stepsSince18 = {
  // Requests that the ledger does not tell of, or not all: refused, failed, answered without a charge. Ids sort by time. `user_hash` and
  // `why` are "" where there is none, `attempts` and `times` JSON. See services/records.
  "18_records_of_requests": inOrder(
    ({ sequence, integer, real, flag, options, optionsByKey, orderedText, orderedLedger }) => [
      `CREATE TABLE requests (
        seq ${sequence},
        request_id ${orderedText} NOT NULL UNIQUE,
        generation_id TEXT,
        caller_request_id TEXT NOT NULL,
        created_at ${integer} NOT NULL,
        key_id TEXT NOT NULL,
        app_title TEXT NOT NULL,
        app_url TEXT NOT NULL,
        user_hash TEXT NOT NULL,
        route TEXT NOT NULL,
        form TEXT,
        model TEXT,
        host TEXT,
        status ${integer} NOT NULL,
        outcome TEXT NOT NULL,
        why TEXT NOT NULL,
        streamed ${flag} NOT NULL,
        attempts TEXT NOT NULL,
        times TEXT NOT NULL,
        duration_ms ${real} NOT NULL,
        bytes_in ${integer} NOT NULL,
        bytes_out ${integer} NOT NULL,
        address TEXT
      ) ${options}`,
      "CREATE INDEX requests_by_key ON requests (key_id, request_id)",
      "CREATE INDEX requests_by_status ON requests (status, request_id)",
      // Refused requests of nobody known, counted. `minute`: its first Unix millisecond; `address`: "" where it is not known.
      `CREATE TABLE unknown_requests (
        minute ${integer} NOT NULL,
        address TEXT NOT NULL,
        status ${integer} NOT NULL,
        requests ${integer} NOT NULL,
        PRIMARY KEY (minute, address, status)
      ) ${optionsByKey}`,
      ...orderedLedger,
    ],
  ),

  // Alerts: one for each rule, subject and period. `resolved_at` is NULL while a state lasts, of which there is one at a time; what is
  // no state is resolved from the beginning. `seen_at`: when a process last saw that it holds. `content`: JSON.
  // What of them is to be sent to which webhook: `webhook` is the hash of its address. `lease_until`: until then a process sends it.
  "19_alerts": inOrder(({ integer, options }) => [
    `CREATE TABLE alerts (
      id TEXT PRIMARY KEY,
      rule TEXT NOT NULL,
      subject TEXT NOT NULL,
      period TEXT NOT NULL,
      content TEXT NOT NULL,
      created_at ${integer} NOT NULL,
      seen_at ${integer} NOT NULL,
      resolved_at ${integer},
      UNIQUE (rule, subject, period)
    ) ${options}`,
    "CREATE UNIQUE INDEX lasting_alerts ON alerts (rule, subject) WHERE resolved_at IS NULL",
    `CREATE TABLE alert_deliveries (
      alert_id TEXT NOT NULL,
      webhook TEXT NOT NULL,
      state TEXT NOT NULL,
      created_at ${integer} NOT NULL,
      due_at ${integer} NOT NULL,
      attempts ${integer} NOT NULL,
      lease_until ${integer} NOT NULL,
      PRIMARY KEY (alert_id, webhook, state)
    ) ${options}`,
  ]),

  // `user_hash`: of the end user that a request named; "": nobody, or the row is from before this column. `requests`: how many requests a
  // record stands for (services/records/RecordQuota.ts). Neither writes a row anew.
  "20_users_and_counts_of_requests": inOrder(({ integer }) => [
    "ALTER TABLE ledger ADD COLUMN user_hash TEXT NOT NULL DEFAULT ''",
    `ALTER TABLE requests ADD COLUMN requests ${integer} NOT NULL DEFAULT 1`,
  ]),

  // `role`: of a management key; NULL: it is an ordinary key. Management keys from before this column may do everything.
  // Sessions: `id` is the hash of the session's id, `secret` that of the secret of a key which signed in; times are Unix milliseconds.
  "21_roles_and_sessions": inOrder(({ integer, options }) => [
    "ALTER TABLE keys ADD COLUMN role TEXT",
    "UPDATE keys SET role = 'all' WHERE kind = 'management'",
    `CREATE TABLE sessions (
      id TEXT PRIMARY KEY,
      secret TEXT NOT NULL,
      created_at ${integer} NOT NULL,
      seen_at ${integer} NOT NULL
    ) ${options}`,
    "CREATE INDEX sessions_by_secret ON sessions (secret, created_at)",
    "CREATE INDEX sessions_by_use ON sessions (seen_at)",
  ]),

  // `tags`: JSON, a list of texts. `owner`: NULL where nobody is named. The index is for the list of alerts, the newest first.
  "22_tags_and_owners_of_keys": inOrder(() => [
    "ALTER TABLE keys ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE keys ADD COLUMN owner TEXT",
    "CREATE INDEX alerts_by_age ON alerts (created_at, id)",
  ]),

  // Sums by hour over the rows from `summed_from` (not included) to `summed_to`; older rows are added later, some at a time
  // (sql/repositories/hourlySums.ts). `start`: Unix milliseconds. `hourly_sums`: columns of other kinds are ''. Keys and users, of which
  // there are many, have tables of their own, since a short primary key is a third of the work; users also by day.
  // `first_tokens`: counts of times to the first token, as JSON. `failures`: requests of which there were records; `unbooked`: those
  // without a row in the ledger; `class`: who caused it.
  "23_sums_by_hour": inOrder(({ integer, options, optionsByKey }) => [
    `CREATE TABLE hourly_sums (
      kind TEXT NOT NULL CHECK (kind IN ('all', 'host', 'app')),
      start ${integer} NOT NULL,
      app_url TEXT NOT NULL,
      app_title TEXT NOT NULL,
      model TEXT NOT NULL,
      host TEXT NOT NULL,
      provider TEXT NOT NULL,
      ${hourlyFigures(integer)},
      PRIMARY KEY (kind, start, app_url, app_title, model, host, provider)
    ) ${optionsByKey}`,
    `CREATE TABLE hourly_keys (
      start ${integer} NOT NULL,
      key_id TEXT NOT NULL,
      model TEXT NOT NULL,
      host TEXT NOT NULL,
      provider TEXT NOT NULL,
      ${hourlyFigures(integer)},
      PRIMARY KEY (start, key_id, model, host, provider)
    ) ${optionsByKey}`,
    `CREATE TABLE user_sums (
      kind TEXT NOT NULL CHECK (kind IN ('hour', 'day')),
      start ${integer} NOT NULL,
      user_hash TEXT NOT NULL,
      ${hourlyFigures(integer)},
      PRIMARY KEY (kind, start, user_hash)
    ) ${optionsByKey}`,
    `CREATE TABLE first_tokens (
      kind TEXT NOT NULL CHECK (kind IN ('hour', 'day')),
      start ${integer} NOT NULL,
      model TEXT NOT NULL,
      host TEXT NOT NULL,
      provider TEXT NOT NULL,
      counts TEXT NOT NULL,
      PRIMARY KEY (kind, start, model, host, provider)
    ) ${optionsByKey}`,
    `CREATE TABLE failures (
      kind TEXT NOT NULL CHECK (kind IN ('hour', 'day')),
      start ${integer} NOT NULL,
      key_id TEXT NOT NULL,
      model TEXT NOT NULL,
      host TEXT NOT NULL,
      class TEXT NOT NULL,
      requests ${integer} NOT NULL,
      unbooked ${integer} NOT NULL,
      PRIMARY KEY (kind, start, key_id, model, host, class)
    ) ${optionsByKey}`,
    `CREATE TABLE hourly_ledger (
      only_row ${integer} PRIMARY KEY CHECK (only_row = 1),
      summed_from ${integer} NOT NULL,
      summed_to ${integer} NOT NULL,
      pruned_to ${integer} NOT NULL
    ) ${options}`,
    "INSERT INTO hourly_ledger SELECT 1, summed_to, summed_to, 0 FROM summed_ledger",
    ...[3_600_000, 86_400_000].map(
      (ms) => `INSERT INTO failures
        SELECT '${ms === 3_600_000 ? "hour" : "day"}', created_at - created_at % ${ms}, key_id,
          CASE outcome WHEN 'caller_model_not_found' THEN '' ELSE COALESCE(model, '') END, COALESCE(host, ''),
          CASE WHEN outcome IN ('ok', 'caller_gone') THEN 'none' WHEN outcome LIKE 'caller%' THEN 'caller'
            WHEN outcome LIKE 'policy%' THEN 'policy' WHEN outcome LIKE 'host%' THEN 'host' ELSE 'gateway' END,
          SUM(requests), SUM(CASE WHEN booked THEN 0 ELSE requests END)
        FROM (SELECT requests.*, EXISTS (SELECT 1 FROM ledger WHERE ledger.request_id = requests.request_id) AS booked
          FROM requests) AS records GROUP BY 1, 2, 3, 4, 5, 6`,
    ),
    ...[3_600_000, 86_400_000].map(
      (ms) => `INSERT INTO failures
        SELECT '${ms === 3_600_000 ? "hour" : "day"}', minute - minute % ${ms}, '', '', '',
          CASE WHEN status < 500 THEN 'caller' ELSE 'gateway' END, SUM(requests), SUM(requests)
        FROM unknown_requests WHERE true GROUP BY 1, 2, 3, 4, 5, 6`,
    ),
  ]),

  // `routed`: the hosts of the plan and those that were left out (domain/routing/routed.ts); "": the row is from before this column, or
  // there was no plan.
  "24_live_requests_and_routes": inOrder(({ integer, liveQuestions }) => [
    ...liveQuestions,
    "ALTER TABLE ledger ADD COLUMN routed TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE requests ADD COLUMN strategy TEXT NOT NULL DEFAULT ''",
    `ALTER TABLE requests ADD COLUMN seed ${integer} NOT NULL DEFAULT 0`,
    "ALTER TABLE requests ADD COLUMN routed TEXT NOT NULL DEFAULT ''",
  ]),

  // Bytes of kept answers by key and hour of expiry; `expires_at` is the end of the hour. Rows are only added to, and
  // removed after that hour. Answers from before this table are not counted; they expire within a day.
  // `positions`: the secret that encrypts positions in the list of requests.
  "25_bytes_of_kept_answers": inOrder(({ integer, options, optionsByKey }) => [
    `CREATE TABLE idempotency_bytes (
      key_id TEXT NOT NULL,
      expires_at ${integer} NOT NULL,
      bytes ${integer} NOT NULL,
      PRIMARY KEY (key_id, expires_at)
    ) ${optionsByKey}`,
    `CREATE TABLE positions (
      only_row ${integer} PRIMARY KEY CHECK (only_row = 1),
      secret TEXT NOT NULL
    ) ${options}`,
  ]),
}
