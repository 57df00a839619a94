/** Images, documents, video and audio as blocks of Converse. They are sent as bytes, or as an address in S3. */
import type { AudioPart, DataUrl, FilePart, ImagePart, JsonObject, VideoPart } from "headgate/plugin"
import { base64Of, imageTypeOf, readDataUrl } from "headgate/plugin"

/** A block, or why there is none. */
export type Carried = JsonObject | { readonly refused: string }

export const isRefused = (carried: Carried): carried is { readonly refused: string } => "refused" in carried

const refused = (reason: string): Carried => ({ refused: reason })

const imageFormats = new Map([
  ...["png", "jpeg", "gif", "webp"].map((format) => [`image/${format}`, format] as const),
  ["image/jpg", "jpeg"],
])

const documentFormats = new Map([
  ["application/pdf", "pdf"],
  ["text/csv", "csv"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["text/html", "html"],
  ["text/markdown", "md"],
  ["text/x-markdown", "md"],
])

const videoFormats = new Map([
  ...["mp4", "webm", "mpeg"].map((format) => [`video/${format}`, format] as const),
  ["video/x-matroska", "mkv"],
  ["video/quicktime", "mov"],
  ["video/x-flv", "flv"],
  ["video/x-ms-wmv", "wmv"],
  ["video/3gpp", "three_gp"],
])

const audioFormats: ReadonlySet<string> = new Set([
  ...["mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "m4a", "mpeg", "webm"],
])

const extensionOf = (address: string): string => /\.([a-z0-9]+)$/i.exec(address)?.[1]?.toLowerCase() ?? ""

const isInS3 = (address: string): boolean => address.startsWith("s3://")

const inS3 = (address: string): JsonObject => ({ s3Location: { uri: address } })

const bytesOf = (embedded: DataUrl): JsonObject => ({ bytes: base64Of(embedded) })

export const imageBlock = ({ image_url: { url } }: ImagePart): Carried => {
  if (isInS3(url)) return imageOf(`image/${extensionOf(url)}`, inS3(url))
  const embedded = readDataUrl(url)
  return embedded === undefined ? notEmbedded("images") : embeddedImage(embedded)
}

/** Models refuse an image of another type than it says. */
const embeddedImage = (embedded: DataUrl): Carried =>
  imageOf(imageTypeOf(embedded) ?? embedded.mediaType, bytesOf(embedded))

const notEmbedded = (what: string): Carried => refused(`this host takes ${what} as data URLs or addresses in S3 only`)

const imageOf = (mediaType: string, source: JsonObject): Carried => {
  const format = imageFormats.get(mediaType)
  return format === undefined
    ? refused("this host takes PNG, JPEG, GIF and WebP images only")
    : { image: { format, source } }
}

/** `nameFor`: makes a name that the host accepts, out of a file's. */
export const fileBlock = ({ file, ...part }: FilePart, nameFor: (filename: string) => string): Carried => {
  const { file_data: data, filename } = file
  if (data == null) return refused("this host knows no uploaded files")
  if (isInS3(data)) return documentOf(formatNamed(extensionOf(data)), inS3(data), nameFor(filename ?? ""), part)
  if (/^https?:/i.test(data)) return notEmbedded("files")
  const embedded = readDataUrl(data) ?? { mediaType: "application/pdf", base64: true, data }
  const { mediaType } = embedded
  if (mediaType.startsWith("image/")) return embeddedImage(embedded)
  if (mediaType.startsWith("video/")) return videoOf(videoFormats.get(mediaType), bytesOf(embedded))
  const isText = mediaType.startsWith("text/") || mediaType === "application/json" || mediaType === ""
  const format = documentFormats.get(mediaType) ?? (isText ? "txt" : undefined)
  return documentOf(format, bytesOf(embedded), nameFor(filename ?? ""), part)
}

const formatNamed = (extension: string): string | undefined =>
  extension === "txt" || [...documentFormats.values()].includes(extension) ? extension : undefined

const documentOf = (format: string | undefined, source: JsonObject, name: string, part: JsonObject): Carried => {
  if (format === undefined) return refused("this host takes PDF, text and office documents as files only")
  const { citations } = part
  return { document: { format, name, source, ...(citations == null ? {} : { citations }) } }
}

export const videoBlock = ({ video_url: { url } }: VideoPart): Carried => {
  if (isInS3(url)) {
    const extension = extensionOf(url)
    const format = extension === "3gp" ? "three_gp" : extension
    return videoOf(
      [...videoFormats.values()].find((known) => known === format),
      inS3(url),
    )
  }
  const embedded = readDataUrl(url)
  return embedded === undefined
    ? notEmbedded("video")
    : videoOf(videoFormats.get(embedded.mediaType), bytesOf(embedded))
}

const videoOf = (format: string | undefined, source: JsonObject): Carried =>
  format === undefined ? refused("this host does not take this kind of video") : { video: { format, source } }

export const audioBlock = ({ input_audio: { data, format } }: AudioPart): Carried =>
  audioFormats.has(format)
    ? { audio: { format, source: { bytes: data } } }
    : refused("this host does not take this kind of audio")

/**
 * Makes names of documents for one conversation. The host accepts letters, digits, single spaces, hyphens and brackets, and
 * refuses a name that it has twice.
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
