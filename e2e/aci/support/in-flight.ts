import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import process from "node:process";

/** Turns of the event loop without a request, after which whoever has sent the last one is taken to be done with its answer. */
const quietTurns = 8;

/** Node.js' names of reading and closing a file. */
const fileWork: ReadonlySet<string> = new Set(["FSReqPromise", "CloseReq"]);

/** Watches the HTTP requests of this process to one server, and its reads of files, so that virtual time waits for them. */
export class InFlight implements Disposable {
  readonly #requests = new Set<ClientRequest>();
  readonly #note: (message: unknown) => void;
  readonly #isHeld: (localPort: number) => boolean;

  /**
   * @param portOf - port of the server; others are ignored
   * @param isHeld - whether the server will never answer what comes from a port, so that time goes on
   */
  constructor(portOf: () => string, isHeld: (localPort: number) => boolean) {
    this.#isHeld = isHeld;
    this.#note = (message) => {
      const { request } = message as { readonly request: ClientRequest };
      if (!String(request.getHeader("host")).endsWith(`:${portOf()}`)) return;
      this.#requests.add(request);
      request.once("close", () => this.#requests.delete(request));
    };
    subscribe("http.client.request.start", this.#note);
  }

  /** Resolves when no request waits for an answer and no file is read, and nothing follows the last answer at once. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns; quiet = this.#isBusy() ? 0 : quiet + 1) await turn();
  }

  [Symbol.dispose](): void {
    unsubscribe("http.client.request.start", this.#note);
  }

  #isBusy(): boolean {
    // The secret of a sign-in comes from a file.
    if (process.getActiveResourcesInfo().some((name) => fileWork.has(name))) return true;
    return [...this.#requests].some(({ socket }) => !this.#isHeld(socket?.localPort ?? 0));
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
