{{- /* Written by `make generate` from packages/cli/src/manifests/access-rights.ts. Do not edit. */ -}}

{{- define "virtual-kubelet.rules.cluster" -}}
- apiGroups: [""]
  resources: ["nodes"]
  verbs: ["create"]
- apiGroups: [""]
  resources: ["nodes"]
  resourceNames: {{ toJson .nodes }}
  verbs: ["get","list","watch","patch"]
- apiGroups: [""]
  resources: ["nodes/status"]
  resourceNames: {{ toJson .nodes }}
  verbs: ["patch"]
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["get","list","watch"]
- apiGroups: [""]
  resources: ["services"]
  verbs: ["list","watch"]
- apiGroups: [""]
  resources: ["persistentvolumes"]
  verbs: ["get"]
{{- if .deletes }}
- apiGroups: [""]
  resources: ["nodes"]
  resourceNames: {{ toJson .deletedNodes }}
  verbs: ["delete"]
{{- end }}
{{- if .readsClusterId }}
- apiGroups: [""]
  resources: ["namespaces"]
  resourceNames: ["kube-system"]
  verbs: ["get"]
{{- end }}
{{- if .provisionsVolumes }}
- apiGroups: [""]
  resources: ["persistentvolumes"]
  verbs: ["get","list","watch","create","delete"]
- apiGroups: [""]
  resources: ["persistentvolumeclaims"]
  verbs: ["get","list","watch"]
- apiGroups: ["storage.k8s.io"]
  resources: ["storageclasses"]
  verbs: ["get"]
{{- end }}
{{- if .discoversNodes }}
- apiGroups: [""]
  resources: ["nodes"]
  verbs: ["get","list","watch","patch"]
- apiGroups: [""]
  resources: ["nodes/status"]
  verbs: ["patch"]
- apiGroups: [""]
  resources: ["nodes"]
  verbs: ["delete"]
{{- end }}
{{- if .tokenReviews }}
- apiGroups: ["authentication.k8s.io"]
  resources: ["tokenreviews"]
  verbs: ["create"]
{{- end }}
{{- if .subjectAccessReviews }}
- apiGroups: ["authorization.k8s.io"]
  resources: ["subjectaccessreviews"]
  verbs: ["create"]
{{- end }}
{{- if .servingCertificate }}
- apiGroups: ["certificates.k8s.io"]
  resources: ["certificatesigningrequests"]
  verbs: ["create","get","list","watch"]
{{- end }}
{{- end -}}

{{- define "virtual-kubelet.rules.pods" -}}
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["delete"]
- apiGroups: [""]
  resources: ["pods/status"]
  verbs: ["patch"]
- apiGroups: [""]
  resources: ["secrets","configmaps"]
  verbs: ["get","list","watch"]
- apiGroups: [""]
  resources: ["persistentvolumeclaims"]
  verbs: ["get"]
- apiGroups: [""]
  resources: ["serviceaccounts/token"]
  verbs: ["create"]
- apiGroups: [""]
  resources: ["events"]
  verbs: ["create","patch"]
{{- if .drains }}
- apiGroups: [""]
  resources: ["pods/eviction"]
  verbs: ["create"]
{{- end }}
{{- end -}}

{{- define "virtual-kubelet.rules.leases" -}}
{{- if .sharesNodes }}
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  verbs: ["create","get","list","watch","update","delete"]
{{- else }}
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  verbs: ["create"]
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  resourceNames: {{ toJson .nodes }}
  verbs: ["get","update"]
{{- if .deletes }}
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  resourceNames: {{ toJson .deletedNodes }}
  verbs: ["delete"]
{{- end }}
{{- if .discoversNodes }}
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  verbs: ["get","update"]
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  verbs: ["delete"]
{{- end }}
{{- end }}
{{- end -}}

{{- define "virtual-kubelet.rules.events" -}}
- apiGroups: [""]
  resources: ["events"]
  verbs: ["create","patch"]
{{- end -}}
