import { ApiStatusError, forbidden, plainFailure } from "../../errors/api-status-error.ts";
import { unsupportedNumber } from "../../json/go-json.ts";
import { equalJson } from "../../json/json-value.ts";
import { apiVersionOf } from "../../kinds/api-version.ts";
import { kinds } from "../../kinds/index.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { runSteps, type Steps } from "../../rest/steps.ts";
import type { AdmissionPlugin, AdmissionRequest, MutatingRun } from "../admission-plugin.ts";
import { ReinvocationMemory } from "../reinvocation-memory.ts";
import { admissionName } from "../selectors.ts";
import { inVersion, replaceObject, type VersionedObjects } from "../versioned-objects.ts";
import { applyMutation, MutationError } from "./apply-mutation.ts";
import { mutationsOf } from "./compiled-policies.ts";
import { PolicyInputs } from "./policy-input.ts";
import { PolicySet, type PolicyInvocation, type PolicyProblem } from "./policy-set.ts";
import type { PolicyPluginOptions } from "./validating-policies.ts";

const name = "MutatingAdmissionPolicy";

/**
 * Changes objects as the MutatingAdmissionPolicies say that are bound.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/policy/mutating/dispatcher.go.
 */
export function createMutatingPolicies(options: PolicyPluginOptions): AdmissionPlugin {
  const policies = new PolicySet(options, name);
  const matched = new WeakSet<ApiObject>();
  return {
    name,
    handles: (subject) => subject.operation !== "DELETE" && policies.handles(subject),
    mutate(request, run) {
      const matching = [...policies.matching(request)];
      if (matching.length === 0) return undefined;
      if (request.object !== undefined) matched.add(request.object);
      return runSteps(mutate(options, matching, request, run));
    },
    validate({ object }) {
      if (object !== undefined && matched.has(object)) checkNumbers(object);
    },
  };
}

/**
 * Apply configurations may have infinities and NaN, which the real server notices when it stores the object.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/storage/etcd3/store.go, `Create` and `GuaranteedUpdate`, which return the error of the encoder.
 *
 * @throws ApiStatusError 500
 */
function checkNumbers(object: Readonly<ApiObject>): void {
  const unsupported = unsupportedNumber(object);
  if (unsupported !== undefined) throw plainFailure(`json: unsupported value: ${unsupported}`);
}

/** Why a policy could not change the object; its failure policy decides whether the request is refused. */
interface Failure extends PolicyProblem {
  readonly reason?: "Invalid";
}

function* mutate(
  { cluster, authorizer }: PolicyPluginOptions,
  matching: readonly (PolicyInvocation | PolicyProblem)[],
  request: AdmissionRequest,
  run: MutatingRun,
): Steps<void> {
  const failures: Failure[] = matching.filter((one): one is PolicyProblem => one.problem !== undefined);
  const invocations = matching.filter((one): one is PolicyInvocation => one.problem === undefined);
  if (invocations.length > 0) {
    const memory = ReinvocationMemory.of(run, name, request.object);
    try {
      const invoke = new Invoker(request, run, { memory, inputs: new PolicyInputs(cluster, authorizer, request) });
      for (const invocation of invocations) yield* invoke.invoke(invocation);
      yield* invoke.finish();
      failures.push(...invoke.failures);
    } finally {
      memory.end(request.object);
    }
  }
  const refused = failures.filter(({ policy }) => policy.spec.failurePolicy !== "Ignore");
  if (refused.length > 0) throw refusal(refused, request);
}

/** Invokes policies for one request. Each sees what the earlier ones have changed. */
class Invoker {
  readonly failures: Failure[] = [];
  readonly #request: AdmissionRequest;
  readonly #run: MutatingRun;
  readonly #memory: ReinvocationMemory;
  readonly #inputs: PolicyInputs;
  /** Objects by version. As in the real server, a change in one version is not seen in others. */
  readonly #versions = new Map<Kind, VersionedObjects>();
  /** Version of the last mutation, which is the one that is kept. */
  #last: Kind | undefined;
  readonly #changed = new Set<Kind>();

  constructor(
    request: AdmissionRequest,
    run: MutatingRun,
    { memory, inputs }: { readonly memory: ReinvocationMemory; readonly inputs: PolicyInputs },
  ) {
    this.#request = request;
    this.#run = run;
    this.#memory = memory;
    this.#inputs = inputs;
  }

  /** @throws ApiStatusError that refuses the request whatever the failure policy is */
  *invoke({ policy, binding, kind, params: found }: PolicyInvocation): Steps<void> {
    const params = found === undefined ? undefined : seenParams(found);
    const program = mutationsOf(policy.spec);
    const before = this.#versions.get(kind) ?? (yield* inVersion(this.#request, kind));
    this.#versions.set(kind, before);
    const fail = (problem: string): number => this.failures.push({ policy, binding, problem, reason: "Invalid" });
    const { matches, error } = program.matches(this.#inputs.of(before, params));
    if (error !== undefined) return void fail(error);
    const id = JSON.stringify([policy.name, binding.name, params?.metadata.namespace, params?.metadata.name]);
    if (!matches || !this.#memory.isDue(this.#run, id)) return;
    let objects = before;
    for (const mutation of program.mutations) {
      this.#last = kind;
      const { object } = objects;
      if (object === undefined) continue;
      try {
        objects = { ...objects, object: applyMutation(kind, object, mutation(this.#inputs.of(objects, params)), this.#request) };
        this.#changed.add(kind);
      } catch (problem) {
        if (!(problem instanceof MutationError)) throw problem;
        fail(problem.message);
      }
    }
    this.#versions.set(kind, objects);
    if (!equalJson(before.object, objects.object)) this.#requireRepetition();
    if (policy.spec.reinvocationPolicy === "IfNeeded") this.#memory.invoked(id);
  }

  /** Writes the result into the request. */
  *finish(): Steps<void> {
    const last = this.#last;
    const object = last === undefined || !this.#changed.has(last) ? undefined : this.#versions.get(last)?.object;
    if (last === undefined || object === undefined) return;
    this.#requireRepetition();
    yield* replaceObject(this.#request, last, object);
  }

  #requireRepetition(): void {
    this.#memory.changed();
    this.#run.repeat();
  }
}

/** As in the real server, mutations do not see `kind` and `apiVersion` of parameters of built-in kinds; validations do. */
function seenParams(params: Readonly<ApiObject>): Readonly<ApiObject> {
  const isBuiltIn = kinds.some((kind) => kind.kind === params.kind && apiVersionOf(kind) === params.apiVersion);
  if (!isBuiltIn) return params;
  const { kind: _kind, apiVersion: _version, ...seen } = params;
  return seen as unknown as ApiObject;
}

/** Source: pkg/admission/plugin/policy/generic/policy_dispatcher.go, `Dispatch` and `PolicyError`. */
function refusal(failures: readonly Failure[], request: AdmissionRequest): ApiStatusError {
  const messages = failures.map(({ policy, binding, problem }) =>
    binding === undefined
      ? `policy ${JSON.stringify(policy.name)} denied request: ${problem}`
      : `policy '${policy.name}' with binding '${binding.name}' denied request: ${problem}`,
  );
  const causes = messages.map((message) => ({ message }));
  const { status } = forbidden(request.kind, admissionName(request), "", causes);
  return new ApiStatusError({ ...status, message: messages[0] ?? "", reason: failures[0]?.reason ?? "Forbidden" });
}
