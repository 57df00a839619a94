/** `GET /backup`: a copy of the database as it is at one moment. Management keys only. docs/backup.md */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { BadRequest, Unavailable } from "../../domain/failures/Failure.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { NoCopy, Storage } from "../../services/storage/Storage.ts"
import { backupDigestHeader, backupSizeHeader } from "../headers.ts"
import { badRequest, unavailable } from "../refusals.ts"
import { AuthorizeManagement } from "./Authorize.ts"

const contentType = "application/vnd.sqlite3"

export const BackupGroup = HttpApiGroup.make("backup")
  .add(
    HttpApiEndpoint.get("backup", "/backup")
      .addSuccess(HttpApiSchema.Uint8Array({ contentType }))
      .addError(badRequest)
      .addError(unavailable)
      .annotate(
        OpenApi.Description,
        "A copy of the SQLite database as it is at one moment, with its size in X-GW-Size and its SHA-256 in Repr-Digest. 400 where the storage is another one.",
      ),
  )
  .middleware(AuthorizeManagement)
  .prefix("/api/v1")

export const backupHandlers = HttpApiBuilder.group(HttpApi.make("headgate").add(BackupGroup), "backup", (handlers) =>
  Effect.map(Storage, ({ copy = noCopies }) =>
    handlers.handle("backup", () =>
      Effect.gen(function* () {
        const { content, bytes, sha256 } = yield* Effect.catchTags(copy, {
          NoCopy: ({ instead }) => Effect.fail(new BadRequest({ issues: [{ path: "storage", message: instead }] })),
          StorageUnavailable: (failure) =>
            Effect.zipRight(
              logEvent("backup_failed", { text: failure.message }),
              Effect.fail(new Unavailable({ why: "backup", retryAfterSeconds: 5 })),
            ),
        })
        const time = new Date(yield* Clock.currentTimeMillis).toISOString().replaceAll(/[-:]|\.\d+/g, "")
        return HttpServerResponse.raw(content, {
          contentType,
          headers: {
            "content-disposition": `attachment; filename="headgate-${time}.db"`,
            "cache-control": "no-store",
            [backupSizeHeader]: String(bytes),
            [backupDigestHeader]: `sha-256=:${sha256}:`,
          },
        })
      }),
    ),
  ),
)

const noCopies = new NoCopy({ instead: "gives no copies" })
