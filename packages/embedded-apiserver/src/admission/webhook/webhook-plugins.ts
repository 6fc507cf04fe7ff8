import { parseExactJson } from "../../json/exact-json.ts";
import { apiVersionOf } from "../../kinds/api-version.ts";
import { messageOf } from "@virtual-kubelet/errdefs";
import { forbidden, internalError } from "../../errors/api-status-error.ts";
import { equalJson, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { convertObject } from "../../storage/version-view.ts";
import type { AdmissionContext } from "../admission-context.ts";
import type { AdmissionPlugin, AdmissionRequest, AdmissionSubject, MutatingRun } from "../admission-plugin.ts";
import type { ReviewAnswer } from "./admission-review.ts";
import { applyWebhookPatch } from "./apply-webhook-patch.ts";
import { callWebhook, failureOf, WebhookCallError, type WebhookCaller } from "./call-webhook.ts";
import { decodeAdmitted } from "./decode-admitted.ts";
import { matchConditions } from "./match-conditions.ts";
import { admissionNamespace, equivalentsOf, isExempt, matchesNamespace, matchesObject, matchRules } from "./match-webhook.ts";
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
    mutate: (request, run) => mutate(options, hooks, { request, run, memory: memoryOf(run, name) }),
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
        const objects = await inVersion(request, kind);
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
  #equivalents = new WeakMap<Kind, readonly Kind[]>();

  constructor({ cluster, resources }: WebhookPluginOptions, plural: string) {
    this.#cluster = cluster;
    const kind = cluster.kinds().find((each) => each.group === "admissionregistration.k8s.io" && each.plural === plural);
    if (kind === undefined) throw new RangeError(`call webhooks: the table of kinds has no ${plural}`);
    const read = (): void => void (this.#hooks = webhooksOf(cluster.list(kind)));
    resources.use(cluster.watch(kind, read));
    resources.use(cluster.watchKinds(() => (this.#equivalents = new WeakMap())));
    read();
  }

  /** Whether a rule of a webhook matches. */
  handles(subject: AdmissionSubject): boolean {
    if (this.#hooks.length === 0 || isExempt(subject.kind)) return false;
    return this.#hooks.some(({ webhook }) => this.#kindFor(webhook, subject) !== undefined);
  }

  /** Webhooks whose rules and selectors match, in order. @throws ApiStatusError 404 if the namespace does not exist */
  *matching(request: AdmissionRequest): Iterable<Invocation> {
    for (const hook of this.#hooks) {
      const kind = this.#kindFor(hook.webhook, request);
      if (kind === undefined || !matchesObject(hook.webhook, request)) continue;
      if (matchesNamespace(hook.webhook, request, this.#cluster)) yield { hook, kind };
    }
  }

  #kindFor(webhook: ConfiguredWebhook["webhook"], subject: AdmissionSubject): Kind | undefined {
    return matchRules(webhook, { ...subject, namespace: admissionNamespace(subject) }, (kind) => {
      let known = this.#equivalents.get(kind);
      if (known === undefined) this.#equivalents.set(kind, (known = equivalentsOf(kind, this.#cluster.kinds())));
      return known;
    });
  }
}

/** Which webhooks to call in the second run. Source: pkg/admission/plugin/webhook/mutating/reinvocationcontext.go. */
interface ReinvocationMemory {
  /** Webhooks with `reinvocationPolicy: IfNeeded` that were called after the last change. */
  called: Set<string>;
  readonly again: Set<string>;
  /** The object after the last webhook. */
  output: unknown;
}

function memoryOf({ memory }: MutatingRun, name: string): ReinvocationMemory {
  let known = memory.get(name) as ReinvocationMemory | undefined;
  if (known === undefined) memory.set(name, (known = { called: new Set(), again: new Set(), output: undefined }));
  return known;
}

function requireCalledAgain(memory: ReinvocationMemory): void {
  for (const id of memory.called) memory.again.add(id);
  memory.called = new Set();
}

interface Mutation {
  readonly request: AdmissionRequest;
  readonly run: MutatingRun;
  readonly memory: ReinvocationMemory;
}

async function mutate(options: WebhookPluginOptions, hooks: WebhookSet, { request, run, memory }: Mutation): Promise<void> {
  if (run.isRepeated && !equalJson(memory.output, request.object)) requireCalledAgain(memory);
  try {
    for (const { hook, kind } of hooks.matching(request)) {
      const objects = await inVersion(request, kind);
      if (!matchesConditions(options, hook, request, objects)) continue;
      if (run.isRepeated && !memory.again.has(hook.id)) continue;
      const hasChanged = await callMutating(options, hook, request, objects);
      if (hasChanged) {
        requireCalledAgain(memory);
        run.repeat();
      }
      if (hook.webhook.reinvocationPolicy === "IfNeeded") memory.called.add(hook.id);
    }
  } finally {
    memory.output = structuredClone(request.object);
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
    const admitted = decoded(objects.kind, object, patched);
    if (admitted.managedFieldsProblem !== undefined) request.warn(managedFieldsWarning(admitted.managedFieldsProblem));
    const hasChanged = !equalJson(admitted.object, object);
    await replaceObject(request, objects.kind, admitted.object);
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
  let operations: JsonValue;
  try {
    operations = parseExactJson(patch);
  } catch (error) {
    throw new WebhookCallError(name, `received undecodable patch in webhook response: ${messageOf(error)}`);
  }
  if (!Array.isArray(operations))
    throw new WebhookCallError(
      name,
      "received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch",
    );
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

function decoded(kind: Kind, before: Readonly<ApiObject>, patched: JsonObject): ReturnType<typeof decodeAdmitted> {
  try {
    return decodeAdmitted(kind, before, patched);
  } catch (error) {
    throw internalError(messageOf(error));
  }
}

function managedFieldsWarning(problem: string): string {
  return `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${problem}`;
}

/** Objects of a request in the version of a webhook's rule. */
interface VersionedObjects {
  readonly kind: Kind;
  readonly object: Readonly<ApiObject> | undefined;
  readonly old: Readonly<ApiObject> | undefined;
}

async function inVersion(request: AdmissionRequest, kind: Kind): Promise<VersionedObjects> {
  const { object, old } = request;
  if (kind === request.kind) return { kind, object, old };
  return { kind, object: await converted(object, request.kind, kind), old: await converted(old, request.kind, kind) };
}

/** The bodies of subresources have their own version. */
async function converted(object: Readonly<ApiObject> | undefined, from: Kind, to: Kind): Promise<Readonly<ApiObject> | undefined> {
  if (object === undefined || object.kind !== from.kind) return object;
  if (to.webhookConversion === undefined) return convertObject(object, from, to);
  return (await to.webhookConversion([object], apiVersionOf(to)))[0];
}

/** Replaces the content of the request's object. */
async function replaceObject({ object, kind }: AdmissionRequest, from: Kind, wanted: ApiObject): Promise<void> {
  const result = from === kind ? wanted : await converted(wanted, from, kind);
  if (object === undefined || result === undefined) return;
  for (const field of Object.keys(object)) if (!(field in result)) delete object[field];
  Object.assign(object, result);
}

function matchesConditions(
  { authorizer }: WebhookPluginOptions,
  hook: ConfiguredWebhook,
  request: AdmissionRequest,
  objects: VersionedObjects,
): boolean {
  const { matches, error } = matchConditions(authorizer, hook, request, objects);
  if (error !== undefined) throw forbidden(request.kind, request.name, error);
  return matches;
}
