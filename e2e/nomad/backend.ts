import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { env } from "node:process";
import { text } from "node:stream/consumers";
import type { PodRef } from "@virtual-kubelet/core";
import { NomadHttp } from "../../providers/nomad/src/api/nomad-http.ts";
import { TokenSource } from "../../providers/nomad/src/api/token-source.ts";
import { jobIdOf } from "../../providers/nomad/src/job/job-id.ts";
import { startFakeNomad, type FakeNomad } from "./fake/start-fake-nomad.ts";

/** The Nomad of the tests: the fake, or with `E2E_NOMAD=real` the agent that `NOMAD_ADDR` names. */
export interface NomadBackend extends AsyncDisposable {
  readonly kind: "fake" | "real";
  readonly address: string;
  readonly token: string | undefined;
  /** The fake; `undefined` with a real agent. */
  readonly fake: FakeNomad | undefined;
  /** Driver of the tests' tasks. */
  readonly driver: "docker" | "raw_exec";
  /** Image with a shell, for the docker driver. */
  readonly image: string;
  /** Network of the tests' pods. */
  readonly network: string;
  /** Creates a namespace unless it exists. */
  makeNamespace(name: string): Promise<void>;
  /** Sends a request without the provider. */
  request(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly body: unknown }>;
}

export async function openNomad(): Promise<NomadBackend> {
  const isReal = env["E2E_NOMAD"] === "real";
  const fake = isReal ? undefined : await startFakeNomad();
  const address = fake?.address ?? env["NOMAD_ADDR"] ?? "http://127.0.0.1:4646";
  const token = isReal ? env["NOMAD_TOKEN"] : undefined;
  const send: NomadBackend["request"] = async (method, path, sent) => {
    // The conformance suite would report a kept-alive connection as a leak.
    const call = request(`${address}/v1${path}`, {
      method,
      agent: false,
      headers: token === undefined ? {} : { "x-nomad-token": token },
    });
    const [response] = (await once(call.end(sent && JSON.stringify(sent)), "response")) as [IncomingMessage];
    const body = await text(response);
    const isJson = response.headers["content-type"]?.includes("json") ?? false;
    return { status: response.statusCode ?? 0, body: isJson && body !== "" ? (JSON.parse(body) as unknown) : body };
  };
  return {
    kind: isReal ? "real" : "fake",
    address,
    token,
    fake,
    driver: isReal && env["E2E_NOMAD_DRIVER"] !== "docker" ? "raw_exec" : "docker",
    image: env["E2E_NOMAD_IMAGE"] ?? "busybox:1.37",
    network: isReal ? (env["E2E_NOMAD_NETWORK"] ?? "bridge") : "bridge",
    async makeNamespace(name) {
      if (fake) fake.cluster.state.namespaces.add(name);
      else await send("PUT", `/namespace/${name}`, { Name: name });
    },
    request: send,
    async [Symbol.asyncDispose]() {
      await fake?.[Symbol.asyncDispose]();
    },
  };
}

/** The provider's HTTP client, connected to this Nomad. */
export function httpTo({ address, token }: NomadBackend): NomadHttp {
  const tokens = new TokenSource({ token });
  return new NomadHttp({ address, tokens, tls: { rejectUnauthorized: true }, maxSockets: 8, maxStreams: 8 });
}

/** ID of the job for a pod on the conformance suite's node. */
export function suiteJobId(ref: PodRef): string {
  return jobIdOf({ clusterId: "conformance-cluster", nodeName: "conformance-node" }, ref.uid);
}
