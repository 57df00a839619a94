/** Which app says that it calls. */
export interface Attribution {
  /** Cut to 200 characters; "" where the caller gave none. */
  readonly appTitle: string
  readonly appUrl: string
}
