import { parseExactJson } from "../../json/exact-json.ts";
import { messageOf } from "@virtual-kubelet/errdefs";
import { ApiStatusError, forbidden, internalError } from "../../errors/api-status-error.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { goJsonError } from "../../json/go-json-error.ts";
import { goJsonType } from "../../json/go-json.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { DecodeError } from "../../kinds/schema/decode.ts";
import { writtenNumberProblem } from "../../kinds/schema/written-numbers.ts";
import type { AdmissionContext } from "../admission-context.ts";
import type { AdmissionPlugin, AdmissionRequest, AdmissionSubject, MutatingRun } from "../admission-plugin.ts";
import type { ReviewAnswer } from "./admission-review.ts";
import { applyWebhookPatch } from "./apply-webhook-patch.ts";
import { checkAdmittedType } from "./check-admitted-type.ts";
import { callWebhook, failureOf, WebhookCallError, type WebhookCaller } from "./call-webhook.ts";
import { decodeAdmitted, managedFieldsWarning } from "./decode-admitted.ts";
import { matchConditions } from "./match-conditions.ts";
import { runSteps } from "../../rest/steps.ts";
import { isExemptFromWebhooks } from "../exempt-kinds.ts";
import { ReinvocationMemory } from "../reinvocation-memory.ts";
import { EquivalentKinds, matchRules } from "../rule-matching.ts";
import { admissionName, admissionNamespace, matchesNamespaceSelector, matchesObjectSelector } from "../selectors.ts";
import { inVersion, replaceObject, type VersionedObjects } from "../versioned-objects.ts";
import { webhooksOf, type ConfiguredWebhook } from "./webhook.ts";

/** Options of {@link mutatingWebhooks} and {@link validatingWebhooks}. */
export interface WebhookPluginOptions extends Pick<AdmissionContext, "cluster" | "resources" | "authorizer">, WebhookCaller {}

/** A webhook to call, and the kind in whose version it is called. */
interface Invocation {
  readonly hook: ConfiguredWebhook;
  readonly kind: Kind;
}

/** Calls the mutating webhooks, one after the other. Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/mutating/dispatcher.go. */
export function mutatingWebhooks(options: WebhookPluginOptions): AdmissionPlugin {
  const name = "MutatingAdmissionWebhook";
  const hooks = new WebhookSet(options, "mutatingwebhookconfigurations");
  return {
    name,
    handles: (subject) => hooks.handles(subject),
    mutate: (request, run) => mutate(options, hooks, { request, run, memory: ReinvocationMemory.of(run, name, request.object) }),
  };
}

/** Calls the validating webhooks, all at once. Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/webhook/validating/dispatcher.go. */
export function validatingWebhooks(options: WebhookPluginOptions): AdmissionPlugin {
  const hooks = new WebhookSet(options, "validatingwebhookconfigurations");
  return {
    name: "ValidatingAdmissionWebhook",
    handles: (subject) => hooks.handles(subject),
    async validate(request) {
      const invocations: { readonly hook: ConfiguredWebhook; readonly objects: VersionedObjects }[] = [];
      for (const { hook, kind } of hooks.matching(request)) {
        const objects = await runSteps(inVersion(request, kind));
        if (matchesConditions(options, hook, request, objects)) invocations.push({ hook, objects });
      }
      const failures = await Promise.all(
        invocations.map(({ hook, objects }) =>
          callWebhook(options, hook.webhook, request, { ...objects, isMutating: false }).then(
            () => undefined,
            (error: unknown) => failureOf(hook.webhook, error),
          ),
        ),
      );
      const failure = failures.find((each) => each !== undefined);
      if (failure !== undefined) throw failure;
    },
  };
}

/** The webhooks of one kind of configuration. */
class WebhookSet {
  readonly #cluster: AdmissionContext["cluster"];
  #hooks: readonly ConfiguredWebhook[] = [];
  readonly #equivalents: EquivalentKinds;

  constructor({ cluster, resources }: WebhookPluginOptions, plural: string) {
    this.#cluster = cluster;
    const kind = cluster.kinds().find((each) => each.group === "admissionregistration.k8s.io" && each.plural === plural);
    if (kind === undefined) throw new RangeError(`call webhooks: the table of kinds has no ${plural}`);
    const read = (): void => void (this.#hooks = webhooksOf(cluster.list(kind)));
    resources.use(cluster.watch(kind, read));
    this.#equivalents = new EquivalentKinds(cluster, resources);
    read();
  }

  /** Whether a rule of a webhook matches. */
  handles(subject: AdmissionSubject): boolean {
    if (this.#hooks.length === 0 || isExemptFromWebhooks(subject.kind)) return false;
    return this.#hooks.some(({ webhook }) => this.#kindFor(webhook, subject) !== undefined);
  }

  /** Webhooks whose rules and selectors match, in order. @throws ApiStatusError 404 if the namespace does not exist */
  *matching(request: AdmissionRequest): Iterable<Invocation> {
    for (const hook of this.#hooks) {
      const kind = this.#kindFor(hook.webhook, request);
      const { objectSelector, namespaceSelector } = hook.webhook;
      if (kind === undefined || !matchesObjectSelector(objectSelector, request)) continue;
      if (matchesNamespaceSelector(namespaceSelector, request, this.#cluster)) yield { hook, kind };
    }
  }

  #kindFor(webhook: ConfiguredWebhook["webhook"], subject: AdmissionSubject): Kind | undefined {
    return matchRules(webhook, { ...subject, namespace: admissionNamespace(subject) }, this.#equivalents.of);
  }
}

interface Mutation {
  readonly request: AdmissionRequest;
  readonly run: MutatingRun;
  readonly memory: ReinvocationMemory;
}

async function mutate(options: WebhookPluginOptions, hooks: WebhookSet, { request, run, memory }: Mutation): Promise<void> {
  try {
    for (const { hook, kind } of hooks.matching(request)) {
      const objects = await runSteps(inVersion(request, kind));
      if (!matchesConditions(options, hook, request, objects)) continue;
      if (!memory.isDue(run, hook.id)) continue;
      const hasChanged = await callMutating(options, hook, request, objects);
      if (hasChanged) {
        memory.changed();
        run.repeat();
      }
      if (hook.webhook.reinvocationPolicy === "IfNeeded") memory.invoked(hook.id);
    }
  } finally {
    memory.end(request.object);
  }
}

/** @returns whether the webhook has changed the object */
async function callMutating(
  options: WebhookPluginOptions,
  { webhook }: ConfiguredWebhook,
  request: AdmissionRequest,
  objects: VersionedObjects,
): Promise<boolean> {
  try {
    const answer = await callWebhook(options, webhook, request, { ...objects, isMutating: true });
    const { object } = objects;
    const patched = patchedObject(webhook.name, answer, objects);
    if (patched === undefined || object === undefined) return false;
    const admitted = decoded(objects.kind, object, { patched, patch: answer.patch });
    if (admitted.managedFieldsProblem !== undefined) request.warn(managedFieldsWarning(admitted.managedFieldsProblem));
    const hasChanged = !equalJson(admitted.object, object);
    await runSteps(replaceObject(request, objects.kind, admitted.object));
    return hasChanged;
  } catch (error) {
    const failure = failureOf(webhook, error);
    if (failure !== undefined) throw failure;
    return false;
  }
}

/** @returns `undefined` if the webhook changes nothing */
function patchedObject(name: string, { patch, patchType }: ReviewAnswer, { object }: VersionedObjects): JsonObject | undefined {
  if (patch === "") return undefined;
  const operations = decodedPatch(name, patch);
  if (operations.length === 0) return undefined;
  if (object === undefined)
    throw internalError(
      `admission webhook ${JSON.stringify(name)} attempted to modify the object, which is not supported for this operation`,
    );
  if (patchType !== "JSONPatch") throw new WebhookCallError(name, `unsupported patch type ${JSON.stringify(patchType)}`);
  try {
    return applyWebhookPatch(object, operations);
  } catch (error) {
    throw internalError(messageOf(error));
  }
}

/** @throws WebhookCallError in the words of Go's decoder */
function decodedPatch(name: string, patch: string): readonly JsonValue[] {
  const undecodable = (problem: string): WebhookCallError =>
    new WebhookCallError(name, `received undecodable patch in webhook response: ${problem}`);
  let operations: JsonValue;
  try {
    operations = parseExactJson(patch);
  } catch {
    throw undecodable(goJsonError(patch) ?? "");
  }
  if (operations === null) return [];
  if (!Array.isArray(operations))
    throw undecodable(`json: cannot unmarshal ${goJsonType(operations)} into Go value of type jsonpatch.Patch`);
  const wrong = operations.find((operation) => !isJsonObject(operation));
  if (wrong !== undefined) throw undecodable(`json: cannot unmarshal ${goJsonType(wrong)} into Go value of type jsonpatch.Operation`);
  return operations;
}

function decoded(
  kind: Kind,
  before: Readonly<ApiObject>,
  { patched, patch }: { readonly patched: JsonObject; readonly patch: string },
): ReturnType<typeof decodeAdmitted> {
  try {
    checkAdmittedType(kind, before, patched);
    const problem = kind.custom === undefined && kind.kind === before.kind ? writtenNumberProblem(kind.schema, patch) : undefined;
    if (problem !== undefined) throw new DecodeError(problem);
    return decodeAdmitted(kind, before, patched);
  } catch (error) {
    throw error instanceof ApiStatusError ? error : internalError(messageOf(error));
  }
}

function matchesConditions(
  { authorizer }: WebhookPluginOptions,
  hook: ConfiguredWebhook,
  request: AdmissionRequest,
  objects: VersionedObjects,
): boolean {
  const { matches, error } = matchConditions(authorizer, hook, request, objects);
  if (error !== undefined) throw forbidden(request.kind, admissionName(request), error);
  return matches;
}
