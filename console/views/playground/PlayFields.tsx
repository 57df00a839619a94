/** What is asked: the same for all models beside each other. */
import { Labelled, SelectField, TextAreaField, TextField } from "../../components/fields.tsx"
import type { PlayErrors, PlayForm } from "../../lib/playForm.ts"

interface Props {
  readonly form: PlayForm
  readonly errors: PlayErrors
  readonly change: (changes: Partial<PlayForm>) => void
}

const efforts = ["", "minimal", "low", "medium", "high"].map((value) => ({
  value: value as PlayForm["effort"],
  title: value === "" ? "default" : value,
}))

/** Bytes of an image: a body may have 32 MiB in all. */
const mostImageBytes = 8 * 1_048_576

const asDataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })

export const PlayFields = ({ form, errors, change }: Props) => {
  const addImages = async (files: FileList | null) => {
    const chosen = Array.from(files ?? []).filter(({ size }) => size <= mostImageBytes)
    const images = await Promise.all(chosen.map(async (file) => ({ name: file.name, url: await asDataUrl(file) })))
    change({ images: [...form.images, ...images] })
  }
  return (
    <div class="play-fields">
      <div>
        <TextAreaField
          label="Message"
          rows={5}
          value={form.message}
          error={errors.message}
          change={(message) => change({ message })}
        />
        <Labelled
          label="Images"
          hint="Files of this machine, 8 MiB each at most. They are sent with the request, and kept nowhere."
        >
          {(ids) => (
            <input
              {...ids}
              type="file"
              accept="image/*"
              multiple
              onChange={(event) => void addImages(event.currentTarget.files)}
            />
          )}
        </Labelled>
        {form.images.length === 0 ? null : (
          <ul class="play-images">
            {form.images.map(({ name, url }, at) => (
              <li key={`${at} ${name}`}>
                <img src={url} alt={name} />
                <button
                  type="button"
                  class="button button-small"
                  onClick={() => change({ images: form.images.filter((_, place) => place !== at) })}
                >
                  Remove<span class="only-read"> {name}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
      <div>
        <TextAreaField label="System message" rows={2} value={form.system} change={(system) => change({ system })} />
        <div class="filters">
          <TextField
            label="Temperature"
            value={form.temperature}
            error={errors.temperature}
            change={(temperature) => change({ temperature })}
            input={{ inputMode: "decimal", placeholder: "default" }}
          />
          <TextField
            label="Tokens out at most"
            value={form.maxTokens}
            error={errors.maxTokens}
            change={(maxTokens) => change({ maxTokens })}
            input={{ inputMode: "numeric" }}
          />
          <SelectField
            label="Reasoning"
            value={form.effort}
            choices={efforts}
            change={(effort) => change({ effort })}
          />
        </div>
        <TextAreaField
          label="Tools, a JSON list"
          rows={2}
          isCode
          value={form.tools}
          error={errors.tools}
          placeholder='[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]'
          change={(tools) => change({ tools })}
        />
      </div>
    </div>
  )
}
