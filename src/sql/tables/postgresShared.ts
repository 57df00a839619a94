/** Tables and functions of PostgreSQL for what several processes share: statements of the steps in migrations.ts. */

/** See docs/decisions/0022-replicas.md. */
export const slicesOfBudgets: ReadonlyArray<string> = [
  // What a process has leased of what a key may spend in a window.
  `CREATE TABLE slices (
    key_id TEXT NOT NULL,
    window_kind TEXT NOT NULL,
    window_start BIGINT NOT NULL,
    process TEXT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (key_id, window_kind, window_start, process)
  )`,
  // Grows a slice within the limit: by `needed`, or an eighth of what is left where that is more. Each statement of a
  // function sees what was committed before it, so those after the lock on the sum see all that others have leased. No
  // row: the process has no lease.
  `CREATE FUNCTION take_slice(of_key TEXT, of_kind TEXT, of_start BIGINT, by_process TEXT, up_to BIGINT, needed BIGINT)
    RETURNS TABLE (granted BIGINT, spent BIGINT, others BIGINT) LANGUAGE plpgsql AS $$
    DECLARE
      unleased BIGINT;
    BEGIN
      PERFORM 1 FROM leases
        WHERE process = by_process AND ends_at > EXTRACT(EPOCH FROM clock_timestamp()) * 1000 FOR KEY SHARE;
      IF NOT FOUND THEN RETURN; END IF;
      INSERT INTO spend (key_id, window_kind, window_start, amount) VALUES (of_key, of_kind, of_start, 0)
        ON CONFLICT DO NOTHING;
      SELECT s.amount INTO spent FROM spend s
        WHERE (s.key_id, s.window_kind, s.window_start) = (of_key, of_kind, of_start) FOR UPDATE;
      SELECT COALESCE(SUM(s.amount) FILTER (WHERE s.process <> by_process), 0),
          up_to - spent - COALESCE(SUM(s.amount), 0)
        INTO others, unleased FROM slices s
        WHERE (s.key_id, s.window_kind, s.window_start) = (of_key, of_kind, of_start);
      granted := CASE WHEN unleased < needed THEN 0 ELSE GREATEST(needed, unleased / 8) END;
      IF granted > 0 THEN
        INSERT INTO slices AS s (key_id, window_kind, window_start, process, amount)
          VALUES (of_key, of_kind, of_start, by_process, granted)
          ON CONFLICT (key_id, window_kind, window_start, process) DO UPDATE SET amount = s.amount + EXCLUDED.amount;
      END IF;
      RETURN NEXT;
    END $$`,
]

/** See docs/decisions/0084-live-requests-of-all-processes.md. What is in these tables matters for some seconds. */
export const questionsOfProcesses: ReadonlyArray<string> = [
  // `stop`: the id of a request; NULL: which ones run? `asked_at`: Unix milliseconds of the server.
  `CREATE UNLOGGED TABLE live_questions (
    id TEXT PRIMARY KEY,
    process TEXT NOT NULL,
    stop TEXT,
    asked_at BIGINT NOT NULL
  )`,
  `CREATE UNLOGGED TABLE live_answers (
    question TEXT NOT NULL REFERENCES live_questions (id) ON DELETE CASCADE,
    process TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (question, process)
  )`,
]

/** See docs/decisions/0027-shared-rate-limits.md. */
export const sharesOfRateLimits: ReadonlyArray<string> = [
  // How many requests of a limit a process may have counted in any interval. `until`: Unix milliseconds; it counts no more
  // requests from then on, unless it has renewed it.
  `CREATE TABLE rate_shares (
    key_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    holder TEXT NOT NULL,
    permits BIGINT NOT NULL CHECK (permits > 0),
    until BIGINT NOT NULL,
    PRIMARY KEY (key_id, scope, holder)
  )`,
  // Requests that count and are in nobody's share.
  `CREATE TABLE rate_uses (
    key_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    used_at BIGINT NOT NULL,
    requests BIGINT NOT NULL CHECK (requests > 0),
    PRIMARY KEY (key_id, scope, used_at)
  )`,
  "CREATE INDEX rate_uses_by_age ON rate_uses (used_at)",
  // Renews a share for `lease_ms` and adds to it: `needed`, or half of what is left, up to `preferred`, where that is more;
  // or what is left. `own`: the holders of which the process has `have`, if any of them is still there. A share that was not
  // renewed counts for an interval more, since all of it may have been used at its end. `others`: what others have.
  // `free_in`: milliseconds until one request more is admitted at the latest, if others admit none.
  `CREATE FUNCTION take_permits(of_key TEXT, of_scope TEXT, by_holder TEXT, own TEXT[], have BIGINT, needed BIGINT,
      preferred BIGINT, up_to BIGINT, interval_ms BIGINT, lease_ms BIGINT)
    RETURNS TABLE (permits BIGINT, others BIGINT, free_in BIGINT) LANGUAGE plpgsql AS $$
    DECLARE
      now_ms BIGINT;
      unleased BIGINT;
      granted BIGINT;
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtextextended(of_scope || ' ' || of_key, 0));
      now_ms := FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000);
      DELETE FROM rate_shares s
        WHERE (s.key_id, s.scope) = (of_key, of_scope) AND s.until + interval_ms <= now_ms;
      DELETE FROM rate_shares s WHERE (s.key_id, s.scope) = (of_key, of_scope) AND s.holder = ANY (own);
      permits := CASE WHEN FOUND THEN have ELSE 0 END;
      -- Those that are in the future were counted before the clock was set back.
      DELETE FROM rate_uses u WHERE (u.key_id, u.scope) = (of_key, of_scope)
        AND (u.used_at + interval_ms <= now_ms OR u.used_at > now_ms);
      SELECT COALESCE(SUM(s.permits), 0) INTO others FROM rate_shares s
        WHERE (s.key_id, s.scope) = (of_key, of_scope);
      SELECT up_to - permits - others - COALESCE(SUM(u.requests), 0) INTO unleased FROM rate_uses u
        WHERE (u.key_id, u.scope) = (of_key, of_scope);
      IF needed > 0 AND unleased > 0 THEN
        granted := LEAST(unleased, GREATEST(needed, LEAST(unleased / 2, preferred)));
        permits := permits + granted;
        unleased := unleased - granted;
      END IF;
      SELECT MIN(freed.at) + interval_ms - now_ms INTO free_in FROM (
        SELECT ends.at, SUM(ends.n) OVER (ORDER BY ends.at) AS so_far FROM (
          SELECT u.used_at AS at, u.requests AS n FROM rate_uses u WHERE (u.key_id, u.scope) = (of_key, of_scope)
          UNION ALL
          SELECT s.until, s.permits FROM rate_shares s WHERE (s.key_id, s.scope) = (of_key, of_scope)
        ) ends
      ) freed WHERE freed.so_far > -unleased;
      IF permits > 0 THEN
        INSERT INTO rate_shares VALUES (of_key, of_scope, by_holder, permits, now_ms + lease_ms);
      END IF;
      RETURN NEXT;
    END $$`,
]
