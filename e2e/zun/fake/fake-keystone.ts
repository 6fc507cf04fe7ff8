import { randomUUID } from "node:crypto";
import type { ZunAnswer } from "./fake-zun.ts";

/** Password of every user. */
export const cloudPassword = "secret-of-the-cloud";

/** Project of every token. */
export const cloudProject: { readonly id: string; readonly name: string; readonly domain: object } = {
  id: "0123456789abcdef0123456789abcdef",
  name: "demo",
  domain: { id: "default", name: "Default" },
};
const user = { id: "89abcdef0123456789abcdef01234567", name: "demo", domain: { id: "default", name: "Default" } };

/** A request to Keystone. */
export interface KeystoneCall {
  readonly method: string;
  /** Path within the service, such as `/v3/auth/tokens`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

/** A response of Keystone, whose headers can contain the token. */
export type KeystoneAnswer = ZunAnswer & { readonly headers?: Readonly<Record<string, string>> };

interface Identity {
  readonly password?: { readonly user?: { readonly password?: string } };
  readonly token?: { readonly id?: string };
  readonly application_credential?: { readonly secret?: string };
}

/** Source: keystonemiddleware's response. */
export const unauthorized: ZunAnswer = {
  status: 401,
  body: { error: { code: 401, title: "Unauthorized", message: "The request you have made requires authentication." } },
};

/** Fake of Keystone v3: issues tokens, and validates them for services. Shapes: Keystone's API reference, v3. */
export class FakeKeystone {
  /** Valid tokens. */
  readonly tokens: Set<string> = new Set<string>();
  /** Lifetime of a token in milliseconds. */
  lifetimeMs = 3_600_000;
  /** URLs of the services, including Keystone. */
  readonly urls: { readonly container: string; readonly network: string; readonly volume: string; readonly identity: string };

  constructor(urls: FakeKeystone["urls"]) {
    this.urls = urls;
  }

  /** Answers a request. */
  answer({ method, path, headers, body }: KeystoneCall): KeystoneAnswer {
    if (path === "/" || path === "/v3" || path === "/v3/") return { status: 200, body: this.#versions(path) };
    if (path !== "/v3/auth/tokens") return { status: 404, body: { error: { code: 404, title: "Not Found", message: "no such path" } } };
    if (method === "GET") {
      const subject = String(headers["x-subject-token"]);
      return this.tokens.has(subject)
        ? { status: 200, headers: { "x-subject-token": subject }, body: { token: this.#body() } }
        : { status: 404, body: { error: { code: 404, title: "Not Found", message: "This token is not good" } } };
    }
    const { identity = {}, scope } =
      (body as { readonly auth?: { readonly identity?: Identity; readonly scope?: unknown } } | undefined)?.auth ?? {};
    const isGood =
      identity.password?.user?.password === cloudPassword ||
      (identity.application_credential?.secret === cloudPassword && scope === undefined) ||
      this.tokens.has(identity.token?.id ?? "");
    if (!isGood) return unauthorized;
    const value = randomUUID();
    this.tokens.add(value);
    return { status: 201, headers: { "x-subject-token": value }, body: { token: this.#body() } };
  }

  #versions(path: string): object {
    const version = { id: "v3.14", status: "stable", links: [{ rel: "self", href: `${this.urls.identity}/v3/` }] };
    return path === "/" ? { versions: { values: [version] } } : { version };
  }

  #body(): object {
    const now = Date.now();
    const time = (ms: number): string => new Date(ms).toISOString().replace("Z", "000Z");
    const endpoints = (url: string): object[] =>
      ["public", "internal", "admin"].map((each) => ({
        id: randomUUID(),
        interface: each,
        region: "RegionOne",
        region_id: "RegionOne",
        url,
      }));
    const service = (type: string, url: string): object => ({ id: randomUUID(), type, name: type, endpoints: endpoints(url) });
    return {
      methods: ["password"],
      issued_at: time(now),
      expires_at: time(now + this.lifetimeMs),
      user,
      project: cloudProject,
      roles: [{ id: "r1", name: "member" }],
      catalog: [
        service("container", this.urls.container),
        service("network", this.urls.network),
        service("volumev3", `${this.urls.volume}/v3/${cloudProject.id}`),
        service("identity", `${this.urls.identity}/v3`),
      ],
    };
  }
}
