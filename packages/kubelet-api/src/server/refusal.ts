/** Headers of an answer. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

/** An answer that is thrown: the text goes to the client as it is, so it holds nothing that the client must not see. */
export class Refusal extends Error {
  /** 400 or more. */
  readonly status: number;
  readonly headers: AnswerHeaders;

  /** @param text - the answer's whole body */
  constructor(status: number, text: string, options: ErrorOptions & { readonly headers?: AnswerHeaders | undefined } = {}) {
    super(text, options);
    this.name = "Refusal";
    this.status = status;
    this.headers = options.headers ?? {};
  }
}
