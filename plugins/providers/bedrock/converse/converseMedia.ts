/** Images, documents, video and audio as blocks of Converse. They are sent as bytes, or as an address in S3. */
import type { AudioPart, DataUrl, FilePart, ImagePart, JsonObject, VideoPart } from "headgate/plugin"
import { base64Of, imageTypeOf, readDataUrl } from "headgate/plugin"

/** A block, or why there is none. */
export type Carried = JsonObject | { readonly refused: string }

export const isRefused = (carried: Carried): carried is { readonly refused: string } => "refused" in carried

const refused = (reason: string): Carried => ({ refused: reason })

type Kind = "image" | "document" | "video"

const typed = (kind: string, ...formats: ReadonlyArray<string>) =>
  formats.map((format) => [`${kind}/${format}`, format] as const)

/** The host's names of formats, by media type. */
const formats: Readonly<Record<Kind, ReadonlyMap<string, string>>> = {
  image: new Map([...typed("image", "png", "jpeg", "gif", "webp"), ["image/jpg", "jpeg"]]),
  document: new Map([
    ...typed("text", "csv", "html"),
    ["text/plain", "txt"],
    ["text/markdown", "md"],
    ["text/x-markdown", "md"],
    ["application/pdf", "pdf"],
    ["application/msword", "doc"],
    ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
    ["application/vnd.ms-excel", "xls"],
    ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ]),
  video: new Map([
    ...typed("video", "mp4", "webm", "mpeg"),
    ["video/x-matroska", "mkv"],
    ["video/quicktime", "mov"],
    ["video/x-flv", "flv"],
    ["video/x-ms-wmv", "wmv"],
    ["video/3gpp", "three_gp"],
  ]),
}

/** Extensions of files that differ from the host's name of the format. */
const extensions: ReadonlyMap<string, string> = new Map([
  ["3gp", "three_gp"],
  ["jpg", "jpeg"],
])

const refusals: Readonly<Record<Kind, string>> = {
  image: "this host takes PNG, JPEG, GIF and WebP images only",
  document: "this host takes PDF, text and office documents as files only",
  video: "this host does not take this kind of video",
}

const blockOf = (kind: Kind, format: string | undefined, source: JsonObject, more: JsonObject = {}): Carried =>
  format === undefined ? refused(refusals[kind]) : { [kind]: { format, ...more, source } }

const isInS3 = (address: string): boolean => address.startsWith("s3://")

/** By the extension of the address. */
const inS3 = (kind: Kind, address: string, more?: JsonObject): Carried => {
  const extension = /\.([a-z0-9]+)$/i.exec(address)?.[1]?.toLowerCase() ?? ""
  const named = extensions.get(extension) ?? extension
  const format = [...formats[kind].values()].find((known) => known === named)
  return blockOf(kind, format, { s3Location: { uri: address } }, more)
}

const bytesOf = (embedded: DataUrl): JsonObject => ({ bytes: base64Of(embedded) })

const embedded = (kind: Kind, data: DataUrl, mediaType = data.mediaType): Carried =>
  blockOf(kind, formats[kind].get(mediaType), bytesOf(data))

/** Models refuse an image of another type than it says. */
const embeddedImage = (data: DataUrl): Carried => embedded("image", data, imageTypeOf(data))

const notEmbedded = (what: string): Carried => refused(`this host takes ${what} as data URLs or addresses in S3 only`)

export const imageBlock = ({ image_url: { url } }: ImagePart): Carried => {
  if (isInS3(url)) return inS3("image", url)
  const data = readDataUrl(url)
  return data === undefined ? notEmbedded("images") : embeddedImage(data)
}

export const videoBlock = ({ video_url: { url } }: VideoPart): Carried => {
  if (isInS3(url)) return inS3("video", url)
  const data = readDataUrl(url)
  return data === undefined ? notEmbedded("video") : embedded("video", data)
}

/** `nameFor`: makes a name that the host accepts, out of a file's. */
export const fileBlock = ({ file, citations }: FilePart, nameFor: (filename: string) => string): Carried => {
  const { file_data: given, filename } = file
  if (given == null) return refused("this host knows no uploaded files")
  const about = () => ({ name: nameFor(filename ?? ""), ...(citations == null ? {} : { citations }) })
  if (isInS3(given)) return inS3("document", given, about())
  if (/^https?:/i.test(given)) return notEmbedded("files")
  const data = readDataUrl(given) ?? { mediaType: "application/pdf", base64: true, data: given }
  const { mediaType } = data
  if (mediaType.startsWith("image/")) return embeddedImage(data)
  if (mediaType.startsWith("video/")) return embedded("video", data)
  const isText = mediaType.startsWith("text/") || mediaType === "application/json" || mediaType === ""
  const format = formats.document.get(mediaType) ?? (isText ? "txt" : undefined)
  return blockOf("document", format, bytesOf(data), about())
}

const audioFormats = /^(?:mp3|opus|wav|aac|flac|mp4|ogg|mkv|m4a|mpeg|webm)$/

export const audioBlock = ({ input_audio: { data, format } }: AudioPart): Carried =>
  audioFormats.test(format)
    ? { audio: { format, source: { bytes: data } } }
    : refused("this host does not take this kind of audio")

/**
 * Makes names of documents for one conversation. The host accepts letters, digits, single spaces, hyphens and brackets,
 * and refuses a name that it has twice.
 */
export const documentNames = (): ((filename: string) => string) => {
  const used = new Set<string>()
  return (filename) => {
    const plain = filename
      .replace(/[^a-zA-Z0-9\s()[\]-]+/g, "-")
      .replace(/\s+/g, " ")
      .trim()
      .slice(0, longestName)
    const wanted = plain === "" ? "document" : plain
    let name = wanted
    for (let more = 2; used.has(name); more++) name = `${wanted} (${more})`
    used.add(name)
    return name
  }
}

/** The host takes 200 characters; a number may follow. */
const longestName = 190
