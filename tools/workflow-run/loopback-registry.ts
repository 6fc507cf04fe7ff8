import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/** A package's version as it was published. */
interface PublishedVersion {
  readonly name: string;
  readonly version: string;
  /** Such as `latest`. */
  readonly tag: string;
  /** Bytes of the tarball. */
  readonly size: number;
}

/** An npm registry on loopback that holds nothing until something is published to it. */
export interface LoopbackRegistry extends AsyncDisposable {
  /** Such as `http://127.0.0.1:4000/`. */
  readonly url: string;
  /** In the order in which they came. */
  readonly published: readonly PublishedVersion[];
}

/** Body of a publish request. */
interface PublishRequest {
  readonly name: string;
  readonly "dist-tags": Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, { readonly version: string }>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

/** Starts a registry for a rehearsal. It accepts requests with the token. */
export async function startLoopbackRegistry(token: string): Promise<LoopbackRegistry> {
  const published: PublishedVersion[] = [];
  const take = async (request: IncomingMessage): Promise<number> => {
    if (request.headers.authorization !== `Bearer ${token}`) return 401;
    const { name, versions, "dist-tags": tags, _attachments: attachments } = JSON.parse(await text(request)) as PublishRequest;
    const [version = ""] = Object.keys(versions);
    if (published.some((other) => other.name === name && other.version === version)) return 403;
    const [tag = ""] = Object.keys(tags);
    const [tarball] = Object.values(attachments);
    published.push({ name, version, tag, size: Buffer.from(tarball?.data ?? "", "base64").length });
    return 201;
  };
  const answer = async (request: IncomingMessage): Promise<readonly [number, object]> => {
    if (request.method === "PUT") return [await take(request), {}];
    const name = decodeURIComponent(request.url?.slice(1) ?? "");
    const versions = published.filter((one) => one.name === name);
    if (request.method !== "GET" || versions.length === 0) return [404, { error: "not_found" }];
    const byVersion = versions.map(({ version }) => [version, { name, version, dist: { tarball: "", shasum: "" } }] as const);
    const tags = Object.fromEntries(versions.map(({ tag, version }) => [tag, version]));
    return [200, { name, "dist-tags": tags, versions: Object.fromEntries(byVersion) }];
  };
  const server = createServer((request, response) => {
    void answer(request).then(
      ([status, body]) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(400).end(String(error)),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    published,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
