import {
  comparable,
  readRecordings,
  writeRecording,
  type RecordedStep,
} from "../packages/embedded-apiserver/src/test-support/recorded-answers.ts";

/**
 * Sends the recorded requests to a real API server and writes its answers down.
 *
 * Use: `node tools/record-api-answers.ts http://localhost:8080 < token`. The server needs a namespace `default` with
 * its service account, no controllers, RelaxedServiceNameValidation and services in 10.96.0.0/12. For one that speaks
 * HTTPS with a certificate of its own, say `NODE_EXTRA_CA_CERTS`.
 */
async function main([base]: readonly string[]): Promise<void> {
  if (base === undefined) throw new Error("tell the address of the API server, such as http://localhost:8080");
  const api = new Api(base, await readToken());
  for (const [name, recording] of await readRecordings()) {
    const entries = [];
    for (const [title, steps] of Object.entries(recording)) entries.push([title, await api.replay(steps)] as const);
    await writeRecording(name, Object.fromEntries(entries));
    console.log(`${name}: ${entries.length} cases`);
  }
}

async function readToken(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString().trim();
}

/** The part of an object that tidying up looks at. */
interface Stored {
  readonly metadata?: { readonly name?: string; readonly finalizers?: string[] };
  readonly spec?: object;
}

class Api {
  readonly #base: string;
  readonly #token: string;

  constructor(base: string, token: string) {
    this.#base = base;
    this.#token = token;
  }

  async replay(steps: readonly RecordedStep[]): Promise<RecordedStep[]> {
    const answered: RecordedStep[] = [];
    const made: string[] = [];
    for (const step of steps) {
      const { status, body } = await this.#send(step.method, step.path, step.body, step.type);
      if (step.method === "POST" && status < 300) made.push(`${step.path}/${(body as Stored).metadata?.name}`);
      answered.push({ ...step, answer: comparable(status, body) });
    }
    for (const path of made.toReversed()) await this.#remove(path);
    return answered;
  }

  async #remove(path: string): Promise<void> {
    await this.#send("DELETE", `${path}?gracePeriodSeconds=0`);
    const { status, body } = await this.#send("GET", path);
    if (status !== 200) return;
    const stored = body as Stored;
    if (path.includes("/namespaces/") && path.split("/").length === 5)
      await this.#send("PUT", `${path}/finalize`, { ...stored, spec: { ...stored.spec, finalizers: [] } });
    if (stored.metadata?.finalizers !== undefined)
      await this.#send("PATCH", path, { metadata: { finalizers: null } }, "application/merge-patch+json");
  }

  async #send(method: string, path: string, body?: unknown, type: string = "application/json"): Promise<{ status: number; body: unknown }> {
    const response = await fetch(this.#base + path, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, "content-type": type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }
}

await main(process.argv.slice(2));
