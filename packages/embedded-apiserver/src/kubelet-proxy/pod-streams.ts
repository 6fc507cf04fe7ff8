import { backgroundClock } from "@virtual-kubelet/clock";
import { badRequest } from "../errors/api-status-error.ts";
import { accessDenied } from "../authorization/access-request.ts";
import { takenOver, type ApiResponse, type UpgradeHandover } from "../http/api-request.ts";
import { booleanOf } from "../http/query-options.ts";
import type { ResourceCall, ResourceContext } from "../http/resource-call.ts";
import { dialRefusal } from "./dial-refusal.ts";
import { kubeletEndpoint } from "./kubelet-endpoint.ts";
import { containerOf, pathOf, podOf } from "./pod-location.ts";

/** Subresources whose connection is streamed to the kubelet. */
export type PodStream = "exec" | "attach" | "portforward";

/** Names of the query's flags in a kubelet's query. */
const flags = { stdin: "input", stdout: "output", stderr: "error", tty: "tty" } as const;

/**
 * Connects exec, attach or port-forward of a client with the pod's kubelet. SPDY and older WebSocket versions are forwarded unchanged; the
 * newest WebSocket versions as well if the node supports them, otherwise they are translated.
 *
 * Source: pkg/registry/core/pod/rest/subresources.go of Kubernetes v1.36.3.
 *
 * @throws ApiStatusError 400, 403, 404, 500
 */
export async function podStreamVerb(context: ResourceContext, call: ResourceCall, stream: PodStream): Promise<ApiResponse> {
  mustBeAllowedToCreate(context, call, stream);
  const pod = podOf(context, call);
  const container = stream === "portforward" ? undefined : containerOf(pod, call.query.get("container"));
  const nodeName: string = pod["spec"].nodeName ?? "";
  if (nodeName === "") throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
  const endpoint = kubeletEndpoint(context.rest, nodeName, call.kind);
  const { upgrade } = call.request;
  if (upgrade === undefined) throw badRequest("Upgrade request required");
  const { namespace, name } = pod.metadata;
  const path = container === undefined ? pathOf("portForward", namespace, name) : pathOf(stream, namespace, name, container);
  const url = new URL(endpoint.origin + path);
  url.search = kubeletQuery(call.query, stream).toString();
  const target = { url, tls: context.kubelets.tls };
  void join(upgrade, { target, stream, query: call.query, translates: !endpoint.extendsWebSockets });
  return takenOver;
}

/** Requires the verb `create`, because the request of a WebSocket is a GET, although it can run commands. */
function mustBeAllowedToCreate({ authorizer }: ResourceContext, { user, target }: ResourceCall, subresource: PodStream): void {
  const { namespace = "", name = "" } = target;
  const access = { verb: "create", group: "", resource: "pods", subresource, namespace, name, fieldValues: new Map<string, string>() };
  const { isAllowed, reason } = authorizer.authorize(user, access);
  if (!isAllowed) throw accessDenied(user, access, reason);
}

function kubeletQuery(query: URLSearchParams, stream: PodStream): URLSearchParams {
  const passed = new URLSearchParams();
  if (stream === "portforward") {
    const ports = query.getAll("ports").join(",");
    if (ports !== "") passed.set("port", ports);
    return passed;
  }
  for (const [flag, name] of Object.entries(flags)) if (booleanOf(query, flag) === true) passed.set(name, "1");
  if (stream === "exec") for (const word of query.getAll("command")) passed.append("command", word);
  return passed;
}

interface Joint {
  readonly target: { readonly url: URL; readonly tls: ResourceContext["kubelets"]["tls"] };
  readonly stream: PodStream;
  readonly query: URLSearchParams;
  readonly translates: boolean;
}

/** Loads streaming on first use. */
async function join(upgrade: UpgradeHandover, { target, stream, query, translates }: Joint): Promise<void> {
  const { proxyUpgrade, relayPortForward, relayRemoteCommand } = await import("@virtual-kubelet/streaming");
  const offers = upgrade.request.headers["sec-websocket-protocol"] ?? "";
  // Network timeouts use the machine's clock, even if the cluster has a different one.
  const options = { clock: backgroundClock, refusal: dialRefusal };
  if (translates && stream === "portforward" && offers.includes("SPDY/3.1+portforward.k8s.io"))
    return relayPortForward(upgrade, target, options);
  if (translates && stream !== "portforward" && offers.includes("v5.channel.k8s.io")) {
    const wants = (flag: keyof typeof flags): boolean => booleanOf(query, flag) === true;
    const streams = { stdin: wants("stdin"), stdout: wants("stdout"), stderr: wants("stderr"), tty: wants("tty") };
    return relayRemoteCommand(upgrade, target, { ...streams, clock: backgroundClock });
  }
  return proxyUpgrade(upgrade, target, options);
}
