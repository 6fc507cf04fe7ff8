import type { AdmissionSubject } from "../admission-plugin.ts";

/**
 * The variable `request` of expressions: an AdmissionRequest without its objects.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/cel/condition.go, `CreateAdmissionRequest`.
 *
 * @param namespace - namespace of the request; a namespace's own name for the namespace itself
 */
export function admissionRequestVariable(subject: AdmissionSubject, namespace: string): object {
  const { kind, subresource, name, operation, user, dryRun, options } = subject;
  const gvk = { group: kind.group, version: kind.version, kind: kind.kind };
  const gvr = { group: kind.group, version: kind.version, resource: kind.plural };
  return {
    uid: "",
    kind: gvk,
    resource: gvr,
    requestKind: gvk,
    requestResource: gvr,
    ...(subresource === "" ? {} : { subResource: subresource, requestSubResource: subresource }),
    ...(name === "" ? {} : { name }),
    ...(namespace === "" ? {} : { namespace }),
    operation,
    userInfo: {
      username: user.username,
      ...(user.uid === undefined ? {} : { uid: user.uid }),
      ...(user.groups.length === 0 ? {} : { groups: user.groups }),
      ...(user.extra === undefined ? {} : { extra: user.extra }),
    },
    dryRun,
    options,
  };
}
