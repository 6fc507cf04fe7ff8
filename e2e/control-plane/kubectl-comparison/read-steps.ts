import { claim, describedObjects, objectsOfAllKinds, quota } from "./objects.ts";
import { kubectl, until, type StepGroup } from "./step.ts";

const tables = [
  "configmaps,secrets,serviceaccounts,services,endpoints,endpointslices",
  "pods,replicasets,replicationcontrollers,deployments,daemonsets,statefulsets,controllerrevisions",
  "jobs,cronjobs,horizontalpodautoscalers,poddisruptionbudgets,widgets",
  "persistentvolumeclaims,resourcequotas,limitranges,ingresses,networkpolicies,roles,rolebindings,leases",
  "persistentvolume/{ns} storageclass/{ns} clusterrole/{ns} clusterrolebinding/{ns} priorityclass/{ns} runtimeclass/{ns} ingressclass/{ns} namespace/{ns}",
];

/** Objects of all kinds, in every form in which kubectl prints them. */
export const readSteps: readonly StepGroup[] = [
  {
    name: "objects of all kinds",
    steps: [
      kubectl("create -f -", objectsOfAllKinds),
      kubectl("create -f -", objectsOfAllKinds.slice(0, 1)),
      until("get pods --no-headers", /^db-0 [^]*\nfull [^]*\nset-/),
      // The controllers have the pod, the class and the services in their caches.
      until("get pdb keep -o jsonpath={.status.observedGeneration},{.status.expectedPods},{.status.conditions[0].reason}", /^1,1,\w+/),
      until("get events --field-selector=involvedObject.kind=PersistentVolumeClaim --no-headers", /WaitFor\w+ .*disk-db-0/),
      until("get endpointslices -o name", /front-[^]*headless-/),
      kubectl("create -f -", [claim, quota]),
      until("get resourcequota counts -o jsonpath={.status.used}", /"count\/secrets":"1".*"services":"3"/),
      until("get hpa web -o jsonpath={.status.conditions[*].reason}", /ScalingDisabled/),
      until("get statefulset,daemonset,replicaset,deployment,rc,job -o jsonpath={.items[*].status}", /observedGeneration[^]*Suspended/),
      until("get events --no-headers", /Suspended[^]*SuccessfulCreate|SuccessfulCreate[^]*Suspended/),
    ],
  },
  {
    name: "tables",
    steps: [
      ...tables.flatMap((kinds) => [kubectl(`get ${kinds}`), kubectl(`get ${kinds} -o wide`)]),
      kubectl("get all"),
      kubectl("get pods --show-labels"),
      kubectl("get pods -L app,tier --no-headers"),
      kubectl("get pods -l app=full,tier!=back"),
      kubectl("get pods --field-selector=metadata.name=full"),
      kubectl("get pods --field-selector=spec.nosuch=full"),
      kubectl("get pods -l 'app in ('"),
      kubectl("get pods --sort-by=.metadata.name -o name"),
      kubectl("get services --sort-by={.spec.ports[0].port}"),
      kubectl("get pods --chunk-size=1"),
      kubectl("get pods --server-print=false"),
      kubectl("get nosuch"),
      kubectl("get pod nosuch"),
      kubectl("get pod full nosuch --ignore-not-found"),
      kubectl("get pods -n nosuch"),
      kubectl("get deploy web --subresource=scale"),
      kubectl("get deploy web --subresource=status -o name"),
      kubectl("get widget first --subresource=scale"),
      kubectl("get widget first --subresource=scale -o yaml"),
    ],
  },
  {
    name: "output forms",
    steps: [
      ...describedObjects
        .filter((object) => !object.startsWith("namespace"))
        .map((object) => object.split("/")[0] ?? "")
        .filter((kind, index, kinds) => kinds.indexOf(kind) === index)
        .reduce<string[][]>((chunks, kind, index) => {
          (index % 6 === 0 ? chunks : []).push([]);
          chunks.at(-1)?.push(kind);
          return chunks;
        }, [])
        .map((kinds) => kubectl(`get ${kinds.map((kind) => objectOf(kind)).join(" ")} -o yaml`)),
      kubectl("get deployment web -o json"),
      kubectl("get deployment web -o 'jsonpath={.metadata.managedFields[?(@.subresource==\"status\")]}'"),
      kubectl("get deployment web -o 'jsonpath={.metadata.managedFields[?(@.manager==\"kubectl-create\")]}'"),
      kubectl("get pods,services -o name"),
      kubectl("get pods -o custom-columns=NAME:.metadata.name,IMAGES:.spec.containers[*].image,NODE:.spec.nodeName"),
      kubectl('get pod full -o jsonpath=\'{range .spec.containers[*]}{.name}{"\\t"}{.ports[*].containerPort}{"\\n"}{end}\''),
      kubectl("get pod full -o 'go-template={{range .spec.volumes}}{{.name}} {{end}}'"),
      kubectl("get --raw /api/v1/namespaces/{ns}/configmaps/settings"),
      kubectl("get --raw /api/v1/namespaces/{ns}/nosuch"),
      kubectl("get --raw /readyz"),
    ],
  },
  {
    name: "describe",
    steps: [
      ...describedObjects.map((object) => kubectl(`describe ${object}`)),
      kubectl("describe pods -l app=db --show-events=false"),
      kubectl("describe pod nosuch"),
      kubectl("describe crd widgets.compare.example.com"),
      kubectl("events --for=replicaset/set"),
      kubectl("events --types=Warning --for=deployment/web"),
      kubectl("get events --field-selector=involvedObject.name=set"),
    ],
  },
];

function objectOf(kind: string): string {
  return describedObjects.find((object) => object.startsWith(`${kind}/`)) ?? kind;
}
