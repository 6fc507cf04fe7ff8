import { expect } from "vitest";
import { managersOf } from "./support/managers.ts";
import { test } from "./support/parity-test.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";

const objects = [
  "/api/v1/namespaces/kube-node-lease",
  "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
  "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps",
  "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/catch-all",
  "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/exempt",
  "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
  `${rbac}/clusterroles/cluster-admin`,
  `${rbac}/clusterrolebindings/system:basic-user`,
  `${rbac}/namespaces/kube-system/roles/extension-apiserver-authentication-reader`,
];

test("the initial objects have managers", async ({ api }) => {
  for (const path of objects) expect(managersOf((await api.get(path)).body)).toMatchSnapshot(`managers of ${path}`);
});
