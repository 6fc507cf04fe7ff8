import { readFile } from "node:fs/promises";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";

/**
 * Where the ACL token comes from: a file that somebody renews, or the text itself. The file counts where both are given,
 * because `NOMAD_TOKEN` fills in the text, and the configuration goes before the environment.
 */
export class TokenSource {
  readonly #file: string | undefined;
  #token: string | undefined;

  constructor({ token, tokenFile }: { readonly token?: string | undefined; readonly tokenFile?: string | undefined }) {
    this.#token = tokenFile === undefined ? token : undefined;
    this.#file = tokenFile;
  }

  /** What the token is taken from, for people. */
  get origin(): string {
    if (this.#file !== undefined) return `tokenFile ${this.#file}`;
    return this.#token === undefined || this.#token === "" ? "nothing: requests go without a token" : "token";
  }

  /** The token; `undefined` where there is none. @throws InvalidInputError if its file cannot be read */
  async current(): Promise<string | undefined> {
    if (this.#token === undefined && this.#file !== undefined) this.#token = await this.#read(this.#file);
    return this.#token;
  }

  /** A token was refused. @returns whether there is another one now */
  async renew(refused: string | undefined): Promise<boolean> {
    if (this.#file === undefined) return false;
    this.#token = await this.#read(this.#file);
    return this.#token !== refused;
  }

  async #read(file: string): Promise<string> {
    try {
      return (await readFile(file, "utf8")).trim();
    } catch (cause) {
      throw new InvalidInputError(`read the token of Nomad from ${file}: ${messageOf(cause)}`, { cause });
    }
  }
}
