import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { IncomingMessage, type IncomingHttpHeaders } from "node:http";
import { Socket } from "node:net";
import { ApiStatusError, type ApiStatus } from "../errors/api-status-error.ts";
import { createAuthorizer } from "../authorization/authorizer.ts";
import type { ApiRequest, ApiResponse } from "../http/api-request.ts";
import { handleResource } from "../http/resource-handler.ts";
import { parseResourcePath } from "../http/request-target.ts";
import { KindTable } from "../kinds/kind-table.ts";
import type { KubeletRequest, Kubelets } from "../kubelet-proxy/kubelet-client.ts";
import { kinds } from "../kinds/index.ts";
import { Registry } from "../rest/registry.ts";
import { seedObjects } from "../bootstrap/seed-objects.ts";
import { ServiceAccountTokens } from "../authentication/service-account-token.ts";
import { Storage } from "../storage/storage.ts";

interface KubeletAnswer {
  readonly statusCode?: number;
  readonly headers?: IncomingHttpHeaders;
  readonly body?: string;
  /** Whether the body never starts and never ends. */
  readonly isSilent?: boolean;
}

/** Request handler with simulated kubelets. */
export interface KubeletWorld {
  /** Requests that were sent to kubelets. */
  readonly sent: KubeletRequest[];
  /** Responses of kubelets, to inspect the state of their streams. */
  readonly messages: IncomingMessage[];
  /** Response of the kubelet, or the error that makes it unreachable; default: 200 with an empty body. */
  answer: KubeletAnswer | Error;
  /** Sends a request. @throws ApiStatusError */
  ask(path: string, request?: Partial<ApiRequest>): Promise<ApiResponse>;
  /** Returns the body of an error response. */
  refusal(path: string): Promise<ApiStatus>;
}

/** Objects that every pod depends on. */
const basics = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "default" } },
];

const user = { username: "admin", groups: ["system:masters"] };

/** @param objects - nodes and pods */
export function startKubeletWorld(objects: readonly object[]): KubeletWorld {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const { context: rest } = new Registry({ clock, random, storage: new Storage({ historyLimit: 100 }), kindTable: new KindTable(kinds) });
  seedObjects(rest, [...basics, ...objects]);
  const messages: IncomingMessage[] = [];
  const sent: KubeletRequest[] = [];
  const kubelets: Kubelets = {
    tls: { cert: "", key: "", rejectUnauthorized: false },
    send: async (request) => {
      sent.push(request);
      if (world.answer instanceof Error) throw world.answer;
      const message = toMessage(world.answer);
      messages.push(message);
      return message;
    },
  };
  const tokens = new ServiceAccountTokens({ clock, random });
  const authorizer = createAuthorizer(rest, "AlwaysAllow");
  const context = {
    rest,
    clock,
    random,
    tokens,
    authorizer,
    kubelets,
    hasControllers: false,
    watches: new Set<never>(),
    watchBufferLimit: 1,
  };
  const world: KubeletWorld = {
    sent,
    messages,
    answer: {},
    async ask(url, request) {
      const [path = "", query = ""] = url.split("?");
      const target = parseResourcePath(path);
      const whole = { method: "GET", url, headers: {}, body: new Uint8Array(0), ...request };
      const answer = target && handleResource(context, whole, { target, query: new URLSearchParams(query), user, warnings: [] });
      if (answer === undefined) throw new RangeError(`${url} names no resource`);
      return answer;
    },
    async refusal(path) {
      const error: unknown = await world.ask(path).catch((reason: unknown) => reason);
      if (!(error instanceof ApiStatusError)) throw new Error(`${path} was not refused`, { cause: error });
      return error.status;
    },
  };
  return world;
}

function toMessage({ statusCode = 200, headers = {}, body = "", isSilent = false }: KubeletAnswer): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  message.statusCode = statusCode;
  Object.assign(message.headers, headers);
  if (isSilent) return message;
  message.push(body);
  message.push(null);
  message.complete = true;
  return message;
}

/** Node with a status. */
export function nodeWith(name: string, status: object): object {
  return { apiVersion: "v1", kind: "Node", metadata: { name }, status };
}

/** Whole body of a response. */
export async function textOf({ body }: ApiResponse): Promise<string> {
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  let text = "";
  for await (const chunk of body) text += Buffer.from(chunk).toString();
  return text;
}
