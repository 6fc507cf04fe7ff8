import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NomadRig } from "./nomad-rig.ts";

const { signal } = new AbortController();

let folder: string;
let ends: AsyncDisposableStack;
let seen: IncomingMessage[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "vk-nomad-tls-"));
  ends = new AsyncDisposableStack();
  ends.defer(() => rmSync(folder, { recursive: true }));
  seen = [];
});
afterEach(() => ends.disposeAsync());

/** Answers every request with an empty list. */
const handler: RequestListener = (request, response) => {
  seen.push(request);
  response.setHeader("content-type", "application/json").end("[]");
};

async function listen(server: Server, to: number | string): Promise<number> {
  if (typeof to === "string") server.listen(to);
  else server.listen(to, "127.0.0.1");
  await once(server, "listening");
  ends.defer(async () => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address() as AddressInfo | string;
  return typeof address === "string" ? 0 : address.port;
}

function put(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function ping(config: object): Promise<void> {
  const rig = ends.use(await NomadRig.open(config));
  await rig.provider.ping?.(signal);
}

test("with client certificates both sides authenticate each other, with the configured server name", async () => {
  const authority = createCertificateAuthority("nomad");
  const server = authority.issue({ commonName: "server.global.nomad", names: ["server.global.nomad"], usages: ["server auth"] });
  const client = authority.issue({ commonName: "client.global.nomad", usages: ["client auth"] });
  const port = await listen(
    createTlsServer(
      { cert: server.certificate, key: server.key, ca: authority.certificate, requestCert: true, rejectUnauthorized: true },
      handler,
    ),
    0,
  );
  const address = `https://127.0.0.1:${port}`;
  const ca = put("ca.pem", authority.certificate);
  const certificates = { certificate: put("cert.pem", client.certificate), key: put("key.pem", client.key) };

  await ping({ address, tls: { ca, serverName: "server.global.nomad", ...certificates } });
  await expect(ping({ address, tls: { ca, serverName: "server.global.nomad" } })).rejects.toSatisfy(isUnavailable);
  await expect(ping({ address, tls: { ca, ...certificates } })).rejects.toSatisfy(isUnavailable);
  await expect(ping({ address, tls: { serverName: "server.global.nomad", ...certificates } })).rejects.toSatisfy(isUnavailable);
  await ping({ address, tls: { insecureSkipVerify: true, ...certificates } });
});

test("a missing file is named before any request is sent", async () => {
  await expect(NomadRig.open({ tls: { ca: "/none/ca.pem" } })).rejects.toThrow(
    /^tls\.ca of the Nomad provider: read \/none\/ca\.pem: ENOENT/,
  );
  await expect(NomadRig.open({ tls: { certificate: "/none/cert.pem" } })).rejects.toThrow(/certificate and key go together/);
});

test("every request has the token, region, namespace and the proxy's password", async () => {
  const port = await listen(createServer(handler), 0);

  await ping({ address: `http://127.0.0.1:${port}`, token: "s3cret", region: "eu", namespace: "team", httpAuth: "me:pw" });

  const namespaces = seen.map(({ headers, url }) => {
    const { pathname, searchParams: query } = new URL(url ?? "", "http://x");
    expect([headers["x-nomad-token"], headers.authorization]).toEqual(["s3cret", `Basic ${Buffer.from("me:pw").toString("base64")}`]);
    expect(query.get("region")).toBe("eu");
    return query.get("namespace") === "team" ? "team" : `${query.get("namespace")} for ${pathname}`;
  });
  // The provider searches once for its own jobs in all namespaces that the token may see.
  expect(namespaces.filter((namespace) => namespace !== "team")).toEqual(["* for /v1/jobs"]);
  expect(namespaces).toContain("team");
});

test("an agent may be behind a Unix socket", async () => {
  const path = join(folder, "nomad.sock");
  await listen(createServer(handler), path);

  await expect(ping({ address: `unix://${path}` })).resolves.toBeUndefined();
});

test("an invalid address is refused with an example", async () => {
  await expect(NomadRig.open({ address: "nomad" })).rejects.toThrow(
    'address of the Nomad provider is "nomad"; expected a URL such as http://127.0.0.1:4646',
  );
});
