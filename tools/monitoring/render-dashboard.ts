import type { Panel, PanelRow } from "./dashboard.ts";

/** Version of Grafana's dashboard schema. Source: @grafana/schema 13.2.3. */
const schemaVersion = 42;

/** Width of the grid, and of a panel. */
const gridWidth = 24;
const panelWidth = 6;
const panelHeight = 7;

const datasource = { type: "prometheus", uid: "${datasource}" };

/** The dashboard as JSON that Grafana imports. */
export function renderDashboard(rows: readonly PanelRow[]): string {
  return `${JSON.stringify(dashboard(rows), undefined, 2)}\n`;
}

function dashboard(rows: readonly PanelRow[]): object {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: ofRow } of rows) {
    panels.push({ id: panels.length + 1, type: "row", title, collapsed: false, gridPos: { x: 0, y, w: gridWidth, h: 1 }, panels: [] });
    y++;
    for (const [index, panel] of ofRow.entries()) {
      const place = index * panelWidth;
      const gridPos = { x: place % gridWidth, y: y + Math.floor(place / gridWidth) * panelHeight, w: panelWidth, h: panelHeight };
      panels.push(renderPanel(panel, panels.length + 1, gridPos));
    }
    y += Math.ceil((ofRow.length * panelWidth) / gridWidth) * panelHeight;
  }
  return {
    uid: "virtual-kubelet",
    title: "Virtual Kubelet",
    description: "Nodes of Virtual Kubelet for TypeScript: generated from the metric catalogue; the guide Monitoring explains each metric.",
    tags: ["kubernetes", "virtual-kubelet"],
    schemaVersion,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    timezone: "",
    annotations: { list: [] },
    links: [],
    templating: {
      list: [sourceVariable(), labelVariable("job", "vk_node_ready"), labelVariable("instance", 'vk_node_ready{job=~"$job"}')],
    },
    panels,
  };
}

function renderPanel({ title, description, unit = "short", type = "timeseries", queries }: Panel, id: number, gridPos: object): object {
  const options =
    type === "stat"
      ? { reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false }, colorMode: "value", graphMode: "area", textMode: "auto" }
      : { legend: { displayMode: "list", placement: "bottom", showLegend: true }, tooltip: { mode: "multi", sort: "desc" } };
  return {
    id,
    type,
    title,
    description,
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      editorMode: "code",
      expr,
      legendFormat: legend,
      range: true,
    })),
  };
}

function sourceVariable(): object {
  return {
    name: "datasource",
    label: "Data source",
    type: "datasource",
    query: "prometheus",
    hide: 0,
    includeAll: false,
    multi: false,
    options: [],
    refresh: 1,
  };
}

function labelVariable(label: string, metric: string): object {
  const query = `label_values(${metric}, ${label})`;
  return {
    name: label,
    label: label.charAt(0).toUpperCase() + label.slice(1),
    type: "query",
    datasource,
    definition: query,
    query: { query, refId: `${label}-values` },
    refresh: 2,
    sort: 1,
    includeAll: true,
    multi: true,
    allValue: ".*",
    current: { text: ["All"], value: ["$__all"] },
    hide: 0,
    options: [],
  };
}
