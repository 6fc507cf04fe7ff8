import type { PolicySpec } from "../../admission/policies/policy-fields.ts";
import { areExpressionsLoaded, expressions } from "../../cel/engine.ts";
import type { ExpressionWarning, TypedKind } from "../../cel/policy-type-check.ts";
import { apiResources, groupVersions } from "../../discovery/api-resources.ts";
import { apiVersionOf, goKind } from "../../kinds/api-version.ts";
import { validatingAdmissionPolicyKind } from "../../kinds/plain/admission-registration.ts";
import { withEmbeddedFields } from "../../kinds/schema/embedded-fields.ts";
import { resolveReferences } from "../../kinds/schema/resolve-references.ts";
import { openApiDefinitions } from "../../kinds/schema/schema.ts";
import { Disposables } from "../../resources/disposables.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { matchedKinds, type DescribedKind } from "./matched-kinds.ts";

const fieldManager = "validatingadmissionpolicy-status";

/**
 * Checks the expressions of each new or changed ValidatingAdmissionPolicy against the types of the resources that it matches, and writes
 * warnings into its status. A policy is not checked again when a type changes. Kinds of aggregated API servers are not checked.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/validatingadmissionpolicystatus.
 */
export function startPolicyStatusController(context: ControllerContext): Disposable {
  const { cluster, clock } = context;
  const resources = new Disposables();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(
    cluster.watch(validatingAdmissionPolicyKind, ({ type, object }) => {
      if (type !== "DELETED") queue.add(object.metadata.name);
    }),
  );
  for (const policy of cluster.list(validatingAdmissionPolicyKind)) queue.add(policy.metadata.name);
  return resources;

  function sync(name: string): void {
    const policy = cluster.get(validatingAdmissionPolicyKind, undefined, name);
    const { generation = 0 } = policy?.metadata ?? {};
    if (policy === undefined || generation <= (policy["status"]?.observedGeneration ?? 0)) return;
    const warnings = warningsOf(policy["spec"]);
    const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings.map((warning) => ({ ...warning })) };
    cluster.applyStatus(validatingAdmissionPolicyKind, undefined, name, { observedGeneration: generation, typeChecking }, fieldManager);
  }

  function warningsOf(spec: PolicySpec): readonly ExpressionWarning[] {
    // A policy without expressions has not loaded what checks them.
    if (!areExpressionsLoaded()) return [];
    const kinds = matchedKinds(spec, cluster.kinds()).flatMap((kind, index) => typedKind(kind, index + 1) ?? []);
    return expressions().policyTypeWarnings(spec, kinds, paramsOf(spec.paramKind));
  }

  function paramsOf(paramKind: PolicySpec["paramKind"]): TypedKind | undefined {
    if (paramKind === undefined) return undefined;
    const served = groupVersions(cluster.kinds()).filter((groupVersion) => apiVersionOf(groupVersion) === paramKind.apiVersion);
    const described = served.flatMap((groupVersion) => apiResources(groupVersion, cluster.kinds())).map(({ kind }) => kind);
    const kind = described.find((one) => one.kind === paramKind.kind);
    return kind === undefined ? undefined : typedKind(kind, 0);
  }

  /** @param index - number that differs for each kind of a policy */
  function typedKind(described: DescribedKind, index: number): TypedKind | undefined {
    const { kind, schema: definition, custom } = described;
    const schema = custom === undefined ? openApiDefinitions()[definition] : withEmbeddedFields(custom.openApi);
    if (schema === undefined) return undefined;
    return {
      title: goKind(apiVersionOf(described), kind),
      // The real server appends the nanoseconds of the time.
      typeName: `${kind}${(clock.now() % 1000) * 1_000_000 + index}`,
      schema: resolveReferences(schema, [definition]),
    };
  }
}
