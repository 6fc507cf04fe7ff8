/** Headers of a response. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

/** Error that becomes the response. Its text is sent to the client, so it must not contain anything confidential. */
export class Refusal extends Error {
  /** 400 or higher. */
  readonly status: number;
  readonly headers: AnswerHeaders;

  /** @param text - body of the response */
  constructor(status: number, text: string, options: ErrorOptions & { readonly headers?: AnswerHeaders | undefined } = {}) {
    super(text, options);
    this.name = "Refusal";
    this.status = status;
    this.headers = options.headers ?? {};
  }
}
