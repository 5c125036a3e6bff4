"""``kubestow forecast``: what comes next in a series, how surely, and how well that works."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path
from typing import Annotated

import typer
from rich import markup, progress
from rich.table import Column, Table

from kubestow.cli import options, outputs
from kubestow.model import decoding, errors, time_series
from kubestow.policies.forecasting import registry
from kubestow.reports import figures, forecast_page
from kubestow.sources import prometheus, traces
from kubestow.workflows import files, forecasting

app = typer.Typer(add_completion=False, context_settings=outputs.CONTEXT)

_LISTED = 12


@app.command()
def forecast(
    source: Annotated[
        Path | None,
        typer.Argument(metavar="SERIES", help="CSV, .csv.gz or Parquet with a timestamp."),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option("--prometheus", metavar="URL", help="Ask a Prometheus instead of a file."),
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="PROMQL", help="What to ask it; one series.")
    ] = None,
    range_: Annotated[
        str, typer.Option("--range", help="How much of the past to ask for.")
    ] = decoding.format_duration(prometheus.RANGE_S),
    column: Annotated[
        str | None,
        typer.Option(help="Which column, the first one beside the times; or which series."),
    ] = None,
    model: Annotated[
        str, typer.Option(help=f"Who forecasts: {', '.join(registry.FORECASTERS)}; or all.")
    ] = registry.AUTO,
    horizon: Annotated[str, typer.Option(help="How far to look ahead.")] = "5m",
    backtest: Annotated[
        bool, typer.Option("--backtest", help="Try the model on the end of the series.")
    ] = False,
    tested: Annotated[
        float, typer.Option(help="Share of the points a back-test rolls over.")
    ] = forecasting.TESTED,
    step: Annotated[
        str | None, typer.Option(help="Distance of two points; the usual one of the file, or 1m.")
    ] = None,
    season: Annotated[
        str | None, typer.Option(help="Length of a season; found in the series if left out.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for report, figure, results and forecast.")
    ] = None,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Forecast a series, with intervals, and tell how well that would have worked.

    Times are ISO 8601 or seconds. Rows are brought to equal steps: a row belongs to the nearest
    step, the mean of several counts, and a gap repeats the last value before it.

    --backtest fits the models to the first 70 % of the points and rolls the origin over the rest.
    Errors count for all steps up to the horizon; shares are fractions. MASE is in units of the
    error of persistence one step ahead inside the first part. Coverage "0.9" is the share of values
    inside the central 90 %, between the 5 % and the 95 % quantile. --model all tries every model
    and takes the one with the least error; auto weighs the light ones as it goes along.

    Example:
      kubestow forecast requests.csv --horizon 15m --backtest
      kubestow forecast cpu.csv --column web --model holt-winters -o json
      kubestow forecast --prometheus http://localhost:9090 --query 'sum(rate(requests_total[5m]))'
    """
    request = forecasting.ForecastRequest(
        model=model,
        horizon_s=options.read_duration("--horizon", horizon),
        backtest=backtest,
        tested=_check_share(tested),
        season_s=None if season is None else options.read_duration("--season", season),
    )
    step_s = None if step is None else options.read_duration("--step", step)
    if source is not None and server is None and query is None:
        grid = _read(source, column, step_s)
    elif source is None and server is not None and query is not None:
        grid = _ask(server, query, column, options.read_duration("--range", range_), step_s)
    else:
        raise errors.InputError(
            "forecast", "expected SERIES, or --prometheus URL and --query PROMQL"
        )
    result = _run(grid, request)
    if out is not None:
        _write(result, out)
    if output is outputs.Output.JSON:
        outputs.print_json(result.as_json())
    else:
        _print(result, out)
    return 0


def _read(source: Path, column: str | None, step_s: float | None) -> time_series.TimeGrid:
    chosen = column if column is not None else traces.first_column(source)
    return traces.read_grid(source, (chosen,), step_s=step_s)


def _ask(
    url: str, query: str, name: str | None, range_s: float, step_s: float | None
) -> time_series.TimeGrid:
    settings, console = prometheus.PrometheusSettings(url), outputs.progress_console()
    with (
        prometheus.PrometheusClient(settings) as client,
        progress.Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("reading from Prometheus", total=1.0)
        return prometheus.read_history(
            client,
            query,
            time.time(),
            range_s=range_s,
            step_s=step_s or prometheus.STEP_S,
            name=name,
            watch=lambda done: bar.update(task, completed=done),
        )


def _check_share(tested: float) -> float:
    if not 0.0 < tested < 1.0:
        raise errors.InputError("--tested", f"{tested:g}: expected more than 0 and less than 1")
    return tested


def _run(
    grid: time_series.TimeGrid, request: forecasting.ForecastRequest
) -> forecasting.ForecastResult:
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
    )
    console = outputs.progress_console()
    with progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"forecasting {grid.names[0]}", total=1.0)

        def watch(name: str, done: float) -> None:
            bar.update(task, completed=done, description=name)

        return forecasting.run(grid, request, clock=time.perf_counter, watch=watch)


def _write(result: forecasting.ForecastResult, out: Path) -> None:
    chart = forecast_page.make_chart(result)
    files.write_json(out / "results.json", result.as_json())
    files.write_bytes(out / "forecast.png", figures.render_png(chart.to_dict()))
    files.write_text(out / "forecast.csv", _as_csv(result))
    files.write_text(out / "report.html", forecast_page.make_page(result))


def _as_csv(result: forecasting.ForecastResult) -> str:
    rows = result.forecast_rows()
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _print(result: forecasting.ForecastResult, out: Path | None) -> None:
    console = outputs.console()
    grid, mended = result.grid, result.grid.mended
    step = decoding.format_duration(grid.step_s)
    console.print(
        f"[bold]{markup.escape(grid.names[0])}[/bold]: {grid.values.shape[1]} points, one every "
        f"{step}; {mended.gaps} gaps ({mended.filled} points repeat the "
        f"last value), {mended.merged} rows shared a step"
    )
    if result.rows:
        console.print(_error_table(result))
        for name, why in result.skipped.items():
            console.print(markup.escape(f"{name} was left out: {why}"))
    ahead = decoding.format_duration(result.steps * grid.step_s)
    console.print(f"{ahead} ahead by {markup.escape(result.chosen)}{_candidates(result)}:")
    console.print(_forecast_table(result))
    if out is not None:
        console.print(f"written to {out}: report.html, forecast.png, forecast.csv, results.json")


def _candidates(result: forecasting.ForecastResult) -> str:
    if not result.weights:
        return ""
    largest = list(result.weights.items())[:3]
    return f" ({', '.join(f'{name} {100 * share:.0f} %' for name, share in largest)}, ...)"


def _error_table(result: forecasting.ForecastResult) -> Table:
    right = ("MASE", "at the end", "MAE", "RMSE", "MAPE", "in 90 %", "seconds")
    columns = (Column(name, justify="right", no_wrap=True) for name in right)
    table = Table(Column("model", no_wrap=True), *columns, box=None, pad_edge=False)
    for row in forecast_page.sort_rows(result.rows):
        numbers = ("mase", "mase_at_horizon", "mae", "rmse")
        table.add_row(
            row.model,
            *(forecast_page.text(row.measures[name]) for name in numbers),
            forecast_page.percent(row.measures["mape"]),
            forecast_page.percent(row.coverage["0.9"]),
            f"{row.fit_s + row.predict_s:.2f}",
            style="bold" if row.model == result.chosen.split(":")[0] else None,
        )
    return table


def _forecast_table(result: forecasting.ForecastResult) -> Table:
    rows = result.forecast_rows()
    columns = (Column(name, justify="right") for name in list(rows[0])[1:])
    table = Table("time", *columns, box=None, pad_edge=False)
    # Of many steps the first, the last and some between are shown; the JSON has all.
    stride = -(-len(rows) // _LISTED)
    for index in [*range(0, len(rows) - 1, stride), len(rows) - 1]:
        time_text, *numbers = rows[index].values()
        table.add_row(str(time_text), *(forecast_page.text(number) for number in numbers))
    return table
