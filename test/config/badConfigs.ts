/** Configurations that are refused, as a table. */
import { canary, port } from "./configFolders.ts"

export const model = (hosts: ReadonlyArray<unknown>, more: object = {}) => ({
  id: "acme/small",
  context_length: 8192,
  hosts,
  ...more,
})
const acme = { provider: "acme" }
const usd = 'a decimal of USD such as "0.0000025", not negative, at most 1000 and not finer than 1e-12'
const slugForm = 'a slug of a-z, 0-9, ".", "_" and "-"'

/** Its name, the configuration, and the lines that it is refused with. */
export const badConfigs: ReadonlyArray<readonly [string, unknown, ReadonlyArray<string>]> = [
  ["no object", [], ["headgate.config.json: expected an object, got list"]],
  ["no object either", null, ["headgate.config.json: expected an object, got null"]],
  ["a field of the wrong kind", { server: { port: "8787" } }, [`server.port: expected ${port}, got string "8787"`]],
  ["a number out of range", { server: { port: 70000 } }, [`server.port: expected ${port}, got 70000`]],
  ["a broken number", { server: { port: 1.5 } }, [`server.port: expected ${port}, got 1.5`]],
  ["a null", { server: { port: null } }, [`server.port: expected ${port}, got null`]],
  ["a section that is none", { limits: 3 }, ["limits: expected an object, got number"]],
  ["a list that is none", { server: { cors_origins: "*" } }, ["server.cors_origins: expected a list, got string"]],
  [
    "a proxy that is no address",
    { server: { trusted_proxies: ["10.0.0.0/8", "10.0.0.1/8", "proxy.example"] } },
    [
      "server.trusted_proxies[1]: expected the first address of the range: 10.0.0.0/8 has this one, and 10.0.0.1 alone is written without a slash",
      'server.trusted_proxies[2]: expected an IP address or a range such as "10.0.0.0/8" or "2001:db8::/32"',
    ],
  ],
  [
    "a number of proxies below none",
    { server: { trusted_proxies: -1 } },
    ["server.trusted_proxies: expected a whole number from 0 to 100 or a list, got -1"],
  ],
  [
    "a header that tells no address",
    { server: { forwarded_header: "x-real-ip" } },
    ['server.forwarded_header: expected "x-forwarded-for" or "forwarded", got string "x-real-ip"'],
  ],
  ["an unknown field", { server: { prot: 1 } }, ['server.prot: unknown field, did you mean "port"?']],
  [
    "an unknown field in the program's spelling",
    { server: { openMetrics: true } },
    ['server.openMetrics: unknown field, did you mean "open_metrics"?'],
  ],
  [
    "swapped letters",
    { limits: { breaker: { opne_s: 1 } } },
    ['limits.breaker.opne_s: unknown field, did you mean "open_s"?'],
  ],
  ["an unknown field like nothing known", { colour: "red" }, ["colour: unknown field"]],
  ["an unknown field with an odd name", { 'a "b"\n': 1 }, [String.raw`["a \"b\"\n"]: unknown field`]],
  ["a choice that is none", { durability: canary }, ['durability: expected "full" or "process", got string']],
  [
    "a time that no timer can wait",
    { limits: { idle_ms: 1e12 } },
    ["limits.idle_ms: expected a whole number from 0 to 2147483647, got 1000000000000"],
  ],
  [
    "breakers that cannot be",
    {
      limits: {
        retries: -1,
        breaker: { consecutive_failures: 1.5, error_rate: 1.5, min_requests: -1, open_s: 301 },
      },
      routing: { hedge: { enabled: "always", max_cost_share: 2 } },
      providers: { acme: { max_concurrent: 0 } },
    },
    [
      "limits.retries: expected a number of at least 0, got -1",
      "limits.breaker.consecutive_failures: expected a whole number of at least 0, got 1.5",
      "limits.breaker.error_rate: expected a number from 0 to 1, got 1.5",
      "limits.breaker.min_requests: expected a whole number of at least 0, got -1",
      "limits.breaker.open_s: expected a whole number from 0 to 300, got 301",
      'routing.hedge.enabled: expected false, "on_request" or true, got string "always"',
      "routing.hedge.max_cost_share: expected a number from 0 to 1, got 2",
      "providers.acme.max_concurrent: expected a whole number of at least 1, got 0",
    ],
  ],
  [
    "an origin with a path",
    { server: { cors_origins: ["https://a.example", "https://a.example/x"] } },
    [
      'server.cors_origins[1]: expected "*" or an origin such as "https://app.example", got string "https://a.example/x"',
    ],
  ],
  [
    "several workers on one file",
    { server: { workers: 4 } },
    ["server.workers: expected 1 (several workers need a storage that they can share: postgres://…), got 4"],
  ],
  [
    "too many workers",
    { server: { workers: 65 }, storage: "postgres://u@h/d" },
    ["server.workers: expected a whole number from 1 to 64, got 65"],
  ],
  [
    "several workers on a storage that is none",
    { server: { workers: 4 }, storage: "oracle:x" },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string'],
  ],
  [
    "PostgreSQL without a database",
    { storage: `postgres://u:${canary}@h` },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string'],
  ],
  [
    "PostgreSQL at a port that is none",
    { storage: `postgres://u:${canary}@h:70000/db` },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string'],
  ],
  [
    "a storage without a path",
    { storage: "sqlite:" },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string'],
  ],
  [
    "SQLite's own word for memory",
    { storage: "sqlite::memory:" },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got string'],
  ],
  [
    "a storage of another kind",
    { storage: { path: canary } },
    ['storage: expected "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE", got object'],
  ],
  [
    "an alias for what is no model",
    { aliases: { "gpt-4.1": "gpt", x: 3 } },
    [
      'aliases["gpt-4.1"]: expected a model id <author>/<slug>, got string "gpt"',
      "aliases.x: expected a model id <author>/<slug>, got number",
    ],
  ],
  ["a provider that is none", { providers: { acme: canary } }, ["providers.acme: expected an object, got string"]],
  [
    "a provider with a wrong slug",
    { providers: { "My/Host": {} } },
    [`providers["My/Host"]: expected ${slugForm} as its name`],
  ],
  [
    "a variable that is not set",
    { providers: { acme: { api_key: { env: "ACME_KEY" } }, b: { api_key: { env: "B_KEY" } } } },
    [
      "providers.acme.api_key: environment variable ACME_KEY is not set",
      "providers.b.api_key: environment variable B_KEY is not set",
    ],
  ],
  [
    "a secret of the wrong kind",
    { providers: { acme: { api_key: 123456789 } } },
    ['providers.acme.api_key: expected a secret: { "env": "NAME" }, got number'],
  ],
  [
    "a secret that is misspelt",
    { providers: { acme: { api_key: { environment: canary } } } },
    ['providers.acme.api_key: expected a secret: { "env": "NAME" }, got object'],
  ],
  [
    "a key and several keys",
    { providers: { acme: { api_key: "one", api_keys: [{ key: "two" }] } } },
    ["providers.acme.api_keys: expected nothing beside api_key: a provider has either"],
  ],
  [
    "keys that are wrong",
    {
      providers: {
        acme: { api_keys: [] },
        b: { api_keys: [{ key: "one", weight: 0, limit: -1, limit_reset: "hourly" }, { key: { env: "B_KEY" } }, {}] },
        c: { api_keys: [{ key: "one" }, { key: "one", weight: 2 }] },
      },
    },
    [
      "providers.acme.api_keys[0]: expected an object, got nothing",
      "providers.b.api_keys[0].weight: expected a number above 0, at most 1000000, got 0",
      "providers.b.api_keys[0].limit: expected USD, at least 0, got number",
      'providers.b.api_keys[0].limit_reset: expected "daily", "weekly" or "monthly", got string "hourly"',
      "providers.b.api_keys[1].key: environment variable B_KEY is not set",
      'providers.b.api_keys[2].key: expected a secret: { "env": "NAME" }, got nothing',
      "providers.c.api_keys: expected each key once",
    ],
  ],
  [
    "http to the world",
    { providers: { acme: { base_url: "http://api.acme.example/v1" } } },
    ['providers.acme.base_url: expected https (http needs "network": "private"), got http'],
  ],
  [
    "an address with a password",
    { providers: { acme: { base_url: `https://u:${canary}@h/v1` } } },
    ["providers.acme.base_url: expected a URL without user name and password, got one with them"],
  ],
  [
    "a private address",
    { providers: { acme: { base_url: "https://10.0.0.5/v1" } } },
    [
      'providers.acme.base_url: expected a public address (loopback and private ones need "network": "private"), got a private one',
    ],
  ],
  [
    "metadata",
    { providers: { acme: { network: "private", base_url: "http://169.254.169.254/v1" } } },
    ["providers.acme.base_url: expected an address that may be dialled, got a link-local, metadata or reserved one"],
  ],
  [
    "two things wrong with one provider",
    { providers: { acme: { enabled: "yes", base_url: "ftp://x" } } },
    [
      'providers.acme.enabled: expected a boolean, got string "yes"',
      'providers.acme.base_url: expected a URL such as "https://host/v1", got string',
    ],
  ],
  [
    "a proxy that is none",
    { providers: { acme: { proxy: "proxy:3128" } } },
    ["providers.acme.proxy: expected an http or https URL, got string"],
  ],
  [
    "a part of a provider",
    { providers: { acme: { privacy: { may_trian: false } } } },
    ['providers.acme.privacy.may_trian: unknown field, did you mean "may_train"?'],
  ],
  ["models that are no list", { models: {} }, ["models: expected a list, got object"]],
  [
    "a model without an id",
    { models: [{ context_length: 1 }] },
    ["models[0].id: expected a model id <author>/<slug>, got nothing"],
  ],
  ["a model that is none", { models: [3] }, ["models[0]: expected an object, got number"]],
  [
    "a host at an unknown provider",
    { providers: { acme: {} }, models: [model([{ provider: "acne" }])] },
    ['models[0].hosts[0].provider: expected the slug of a configured provider, got string, did you mean "acme"?'],
  ],
  [
    "a model twice",
    { providers: { acme: {} }, models: [model([acme]), model([acme])] },
    ["models[1].id: expected an id of its own, got that of models[0]"],
  ],
  [
    "a tag twice",
    { providers: { acme: {} }, models: [model([acme, { ...acme, variant: "eu" }, acme])] },
    ['models[0].hosts[2]: expected a host with a tag of its own (its "variant" makes one), got the tag of hosts[0]'],
  ],
  [
    "no context length",
    { providers: { acme: {} }, models: [{ id: "a/b", hosts: [acme] }, { id: "a/c" }] },
    [
      "models[0].hosts[0].context_length: expected a number of tokens here or at the model, got nothing",
      "models[1].context_length: expected a number of tokens here or at its hosts, got nothing",
    ],
  ],
  [
    "a price too fine",
    { providers: { acme: {} }, models: [model([{ ...acme, pricing: { prompt: "0.0000000000001", completion: -1 } }])] },
    [
      `models[0].hosts[0].pricing.prompt: expected ${usd}, got string`,
      `models[0].hosts[0].pricing.completion: expected ${usd}, got number`,
    ],
  ],
  [
    "a price of the wrong kind",
    { providers: { acme: {} }, models: [model([{ ...acme, pricing: { prompt: "0", completion: "0", audio: [] } }])] },
    [`models[0].hosts[0].pricing.audio: expected ${usd}, got list`],
  ],
  [
    "a price left out",
    { providers: { acme: {} }, models: [model([{ ...acme, pricing: { prompt: "0" } }])] },
    [`models[0].hosts[0].pricing.completion: expected ${usd}, got nothing`],
  ],
  [
    "a discount above one",
    {
      providers: { acme: {} },
      models: [model([{ ...acme, pricing: { prompt: "0", completion: "0", discount: 1.5 } }])],
    },
    ["models[0].hosts[0].pricing.discount: expected a share from 0 to 1 with at most 6 decimals, got number"],
  ],
  [
    "an hour that is none",
    {
      providers: { acme: {} },
      models: [model([{ ...acme, pricing: { prompt: "0", completion: "0", overrides: [{ utc_start: 1260 }] } }])],
    },
    [
      "models[0].hosts[0].pricing.overrides[0].utc_start: expected a time of the UTC day as a number HHMM from 0 to 2400, got 1260",
    ],
  ],
  [
    "other names of the same thing",
    {
      providers: { acme: { apiKey: "x", url: "https://a.example" } },
      models: [model([{ ...acme, price: { prompt: 1 } }])],
    },
    [
      'providers.acme.apiKey: expected no field: there is nothing to configure, got string, did you mean "api_key"?',
      'providers.acme.url: expected no field: there is nothing to configure, got string, did you mean "base_url"?',
      'models[0].hosts[0].price: unknown field, did you mean "pricing"?',
    ],
  ],
  [
    "variables in texts",
    { providers: { acme: { api_key: `\${ACME_KEY}`, base_url: `https://\${HOST}/v1` } } },
    [
      `providers.acme.api_key: expected { "env": "ACME_KEY" } for a secret, or a file headgate.config.ts with process.env["ACME_KEY"], got \${ACME_KEY}, which is not replaced in a text`,
      `providers.acme.base_url: expected { "env": "HOST" } for a secret, or a file headgate.config.ts with process.env["HOST"], got \${HOST}, which is not replaced in a text`,
    ],
  ],
  [
    "a bad host of a bad model",
    { models: [{ id: "small", hosts: [{ provder: "acme" }] }] },
    [
      "models[0].id: expected a model id <author>/<slug>, got string",
      'models[0].hosts[0].provder: unknown field, did you mean "provider"?',
      `models[0].hosts[0].provider: expected ${slugForm}, got nothing`,
    ],
  ],
  [
    "webhooks that may not be called, or are not signed",
    {
      alerts: {
        webhooks: [
          { url: "https://169.254.169.254/latest", secret: canary },
          { url: "https://metadata.google.internal/x?token=y", format: "slack" },
          { url: "https://10.0.0.5/hook", format: "slack" },
          { url: "http://[::ffff:169.254.169.254]/", format: "slack", network: "private" },
          { url: "http://alerts.example/hook", format: "slack" },
          { url: `https://user:${canary}@alerts.example/hook`, format: "slack" },
          { url: "https://alerts.example/hook" },
          { url: { env: "TEST_NO_SUCH_URL" }, format: "slack", rules: ["disk"] },
        ],
      },
    },
    [
      "alerts.webhooks[0].url: expected an address that may be dialled, got a link-local, metadata or reserved one",
      "alerts.webhooks[1].url: expected an address that may be dialled, got a link-local, metadata or reserved one",
      'alerts.webhooks[2].url: expected a public address (loopback and private ones need "network": "private"), got a private one',
      "alerts.webhooks[3].url: expected an address that may be dialled, got a link-local, metadata or reserved one",
      'alerts.webhooks[4].url: expected https (http needs "network": "private"), got http',
      "alerts.webhooks[5].url: expected a URL without user name and password, got one with them",
      'alerts.webhooks[6].secret: expected a secret, which signs what is sent: { "env": "NAME" }',
      "alerts.webhooks[7].url: environment variable TEST_NO_SUCH_URL is not set",
      'alerts.webhooks[7].rules[0]: expected "key_budget", "daily_spend", "uncharged_cost", "account_refused", "error_rate", "breaker_open", "ledger_behind", "disk_space" or "certificate_ends", got string "disk"',
    ],
  ],
  [
    "thresholds that cannot be",
    {
      alerts: { key_budget: { percent: [0] }, error_rate: { share: 2 }, disk: {}, daily_spend: { days: 1, factor: 0 } },
    },
    [
      "alerts.disk: unknown field",
      "alerts.key_budget.percent[0]: expected a whole number from 1 to 100, got 0",
      "alerts.daily_spend.factor: expected a number above 0, got 0",
      "alerts.daily_spend.days: expected a whole number from 3 to 90, got 1",
      "alerts.error_rate.share: expected a number from 0 to 1, got 2",
    ],
  ],
]
