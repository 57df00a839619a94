const form = /^[\w.:@/~+-]{1,200}$/

/** Whether a model can have this name. What else stands in its place may be anything. */
export const isModelName = (text: string): boolean => form.test(text)
