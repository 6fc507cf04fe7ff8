import { randomBytes } from "node:crypto";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { eventually, openControlPlane } from "@virtual-kubelet/testing";
import { expect, inject, test as base, type TestAPI } from "vitest";
import { Api, WatchEvent, type ApiTarget } from "./api.ts";
import { recorded } from "./recording.ts";

/** Servers on which every test runs, each in a Vitest project. */
export type ServerName = "embedded" | "kube-apiserver";

declare module "vitest" {
  export interface ProvidedContext {
    /** Server of the current project. */
    parityServer: ServerName;
  }
}

/** Credentials of a user. */
interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Fixtures of a test. */
export interface ParityFixtures {
  /** Server from which the other fixtures are made. */
  readonly openedServer: OpenServer;
  /** The server, as its administrator. */
  readonly api: Api;
  /** Address and authority of the same server. */
  readonly target: Pick<ApiTarget, "server" | "ca">;
  /** Client certificate and key of a user, PEM. */
  readonly certificateOf: (user: string, groups: readonly string[]) => ClientCertificate;
  /** A new namespace in which pods can be created. */
  readonly namespace: string;
  /** URL of the namespace's core objects, such as `/api/v1/namespaces/parity-0a1b2c3d`. */
  readonly core: string;
  /** URL of the namespace's objects in the group apps. */
  readonly apps: string;
}

/** A test that runs on both servers. */
export const test: TestAPI<ParityFixtures> = base.extend<ParityFixtures>({
  openedServer: [
    // oxlint-disable-next-line eslint/no-empty-pattern -- vitest reads from the pattern what a fixture needs
    async ({}, use) => {
      await using server = await openServer();
      await use(server);
    },
    { scope: "worker" },
  ],
  api: [async ({ openedServer }, use) => await use(openedServer.api), { scope: "worker" }],
  target: async ({ openedServer }, use) => await use(openedServer.target),
  certificateOf: async ({ openedServer }, use) => await use(openedServer.certificateOf),
  namespace: async ({ api }, use) => {
    const name = `parity-${randomBytes(4).toString("hex")}`;
    await api.create("/api/v1/namespaces", { metadata: { name } });
    // Pods are refused until the service account exists. The config map with the authority comes from another controller and may take
    // longer.
    for (const object of ["serviceaccounts/default", "configmaps/kube-root-ca.crt"])
      await eventually(async () => expect((await api.get(`/api/v1/namespaces/${name}/${object}`)).status).toBe(200), { timeoutMs: 60_000 });
    await use(name);
    await api.delete(`/api/v1/namespaces/${name}`);
  },
  core: async ({ namespace }, use) => await use(`/api/v1/namespaces/${namespace}`),
  apps: async ({ namespace }, use) => await use(`/apis/apps/v1/namespaces/${namespace}`),
});

/** Expected value for accepted differences, which are listed in the embedded server's README. */
export function perServer<T>(expected: Readonly<Record<ServerName, T>>): T {
  return expected[inject("parityServer")];
}

/** Changes that the embedded server keeps per kind; few, so that a test can exceed the history. */
export const embeddedWatchHistory = 200;

/** An opened server. */
interface OpenServer extends AsyncDisposable, Pick<ParityFixtures, "api" | "target" | "certificateOf"> {}

async function openServer(): Promise<OpenServer> {
  const name = inject("parityServer");
  switch (name) {
    case "embedded":
      return await openEmbedded();
    case "kube-apiserver":
      return openReal();
    default:
      return name satisfies never;
  }
}

async function openEmbedded(): Promise<OpenServer> {
  const server = await startApiServer({ watchHistory: embeddedWatchHistory });
  const api = new Api({ server: server.url, ca: server.caPem, credentials: { token: server.token } });
  return {
    api,
    target: { server: server.url, ca: server.caPem },
    certificateOf: (user, groups) => {
      const { certificate: cert, key } = server.issueClientCertificate(user, groups);
      return { cert, key };
    },
    [Symbol.asyncDispose]: async () => {
      api[Symbol.dispose]();
      await server.close();
    },
  };
}

function openReal(): OpenServer {
  const { server, caCertificate, target, kubeconfigFor } = openControlPlane(inject("controlPlane"));
  const { credentials } = target;
  if (credentials === undefined || !("certificate" in credentials))
    throw new TypeError("the administrator's credentials must be a client certificate");
  const api = new Api({ server, ca: caCertificate, credentials: { cert: credentials.certificate, key: credentials.key } });
  return {
    api,
    target: { server, ca: caCertificate },
    certificateOf: (user, groups) => {
      const config = JSON.parse(kubeconfigFor(user, groups).text) as {
        readonly users: readonly { readonly user: Record<string, string> }[];
      };
      const field = (name: string): string => Buffer.from(config.users[0]?.user[name] ?? "", "base64").toString();
      return { cert: field("client-certificate-data"), key: field("client-key-data") };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(api[Symbol.dispose]()),
  };
}

expect.addSnapshotSerializer({
  test: (value) => typeof value === "object" && value !== null,
  serialize: (value) => (Array.isArray(value) && value[0] instanceof WatchEvent ? value.map(recorded).join("\n") : recorded(value)),
});
