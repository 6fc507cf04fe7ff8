import type { ApiObject } from "../kinds/kind.ts";
import { proxyPathsOf } from "../kubelet-proxy/proxy-name.ts";
import { admitBody } from "../rest/admit-body.ts";
import { admissionSubject } from "../rest/rest-context.ts";
import { runSteps } from "../rest/steps.ts";
import { booleanOf } from "./query-options.ts";
import { addressOf, type ResourceCall } from "./resource-call.ts";
import type { Verb } from "./verb.ts";

/** Builds the options of a connection, such as `PodExecOptions`, which admission sees as the object. */
type ConnectOptions = (call: ResourceCall) => ApiObject;

/** Options of the pods' connections. Source: k8s.io/api v0.36.3 core/v1/types.go. */
export const connectObjects: Readonly<Record<"exec" | "attach" | "portforward", ConnectOptions>> = {
  exec: ({ query }) => optionsOf("PodExecOptions", { ...streamsOf(query), command: query.getAll("command") }),
  attach: ({ query }) => optionsOf("PodAttachOptions", streamsOf(query)),
  portforward: ({ query }) => {
    const ports = query.getAll("ports").flatMap((text) => text.split(",").map(Number));
    return optionsOf("PodPortForwardOptions", ports.length === 0 ? {} : { ports });
  },
};

/** Options of a connection below `/proxy`. @param kind - such as `NodeProxyOptions` */
export function proxyOptions(kind: string): ConnectOptions {
  return ({ request }) => {
    const [path = ""] = proxyPathsOf(request.url).below.slice(1).split("?", 1);
    return optionsOf(kind, path === "" ? {} : { path });
  };
}

/** Passes a connection through admission before it is opened. Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/rest.go, `ConnectResource`. */
export function connecting(optionsOf: ConnectOptions, verb: Verb): Verb {
  return (context, call) => {
    const { user, target, warnings } = call;
    const subject = admissionSubject("CONNECT", addressOf(call), {
      user,
      subresource: target.subresource ?? "",
      warn: (message) => warnings.push(message),
    });
    const admitted = runSteps(admitBody(context.rest, subject, () => optionsOf(call)));
    return admitted instanceof Promise ? admitted.then(() => verb(context, call)) : verb(context, call);
  };
}

function streamsOf(query: URLSearchParams): Record<string, unknown> {
  const container = query.get("container") ?? "";
  const flags = ["stdin", "stdout", "stderr", "tty"].filter((flag) => booleanOf(query, flag) === true);
  return { ...Object.fromEntries(flags.map((flag) => [flag, true])), ...(container === "" ? {} : { container }) };
}

/** Such options have no metadata. */
function optionsOf(kind: string, fields: Readonly<Record<string, unknown>>): ApiObject {
  return { kind, apiVersion: "v1", ...fields } as unknown as ApiObject;
}
