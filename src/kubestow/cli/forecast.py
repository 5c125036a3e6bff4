"""``kubestow forecast``: a series, its forecast with prediction intervals, and a back-test."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kubestow.cli import names, options, outputs, prometheus_options
from kubestow.model import errors

if TYPE_CHECKING:
    from rich.table import Table

    from kubestow.model import time_series
    from kubestow.sources import prometheus
    from kubestow.workflows import forecasting

app = outputs.make_app()

_LISTED = 12
_NO_ACCESS = prometheus_options.PrometheusAccess()


@app.command()
@prometheus_options.takes_prometheus
def forecast(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="SERIES", help="CSV, .csv.gz or Parquet file with a timestamp column."
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--prometheus", metavar="URL", help="Read from this Prometheus instead of a file."
        ),
    ] = None,
    access: prometheus_options.PrometheusAccess = _NO_ACCESS,
    query: Annotated[
        str | None, typer.Option(metavar="PROMQL", help="Query that returns one series.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Query this metric instead: a counter (its rate, summed), "
            f"{names.listed(names.PROMETHEUS_QUERIES)}."
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MATCHER", help="With --metric: keep series with LABEL=VALUE. Repeatable."
        ),
    ] = None,
    range_: Annotated[
        str, typer.Option("--range", help="Query this much of the past.")
    ] = names.PROMETHEUS_RANGE,
    end: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="End the query then (ISO 8601); default: now."),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(help="Column, or series, to forecast; default: the first one."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help=f"Forecast with this model: all, {names.listed(names.FORECASTERS, plugins=True)}."
        ),
    ] = names.FORECASTERS[-1],
    horizon: Annotated[str, typer.Option(help="Forecast this far ahead.")] = "5m",
    backtest: Annotated[
        bool, typer.Option("--backtest", help="Measure the model on the end of the series.")
    ] = False,
    tested: Annotated[
        float, typer.Option(help="Share of points that the back-test rolls over, between 0 and 1.")
    ] = names.TESTED,
    step: Annotated[
        str | None, typer.Option(help="Step between points; default: the file's usual step, or 1m.")
    ] = None,
    season: Annotated[
        str | None,
        typer.Option(help="Length of a season, e.g. 1d; default: detected in the series."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write report, figure, results and forecast to this folder.")
    ] = None,
    output: outputs.OutputOption = outputs.Output.TABLE,
) -> int:
    """Forecast a series with prediction intervals, and back-test the models.

    Timestamps are ISO 8601 or epoch seconds. The series is resampled to equal steps: each row goes
    to the nearest step, several rows of a step are averaged, and a gap repeats the last value.

    --backtest fits each model to the first 70 % of the points and rolls the origin over the rest.
    Errors cover all steps up to the horizon; shares are fractions. MASE is relative to the
    in-sample error of one-step persistence. Coverage "0.9" is the share of values inside the
    central 90 % interval. --model all back-tests every model and uses the best; auto weights the
    light models by their recent errors.

    Example:
      kubestow forecast requests.csv --horizon 15m --backtest
      kubestow forecast cpu.csv --column web --model holt-winters -o json
      kubestow forecast --prometheus http://localhost:9090 --query 'sum(rate(requests_total[5m]))'
      kubestow forecast --prometheus http://localhost:9090 --metric container-cpu --where pod=web-0
    """
    from kubestow.workflows import forecasting

    request = forecasting.ForecastRequest(
        model=model,
        horizon_s=options.read_duration("--horizon", horizon),
        backtest=backtest,
        tested=_check_share(tested),
        season_s=None if season is None else options.read_duration("--season", season),
    )
    step_s = None if step is None else options.read_duration("--step", step)
    chosen = _make_query(query, metric, where or [], access)
    end_s = time.time() if end is None else options.read_time("--end", end)
    if source is not None and server is None and chosen is None and end is None:
        grid = _read(source, column, step_s)
    elif source is None and server is not None and chosen is not None:
        range_s = options.read_duration("--range", range_)
        grid = _ask(access.settings(server), chosen, column, (end_s, range_s), step_s)
    else:
        expected = "SERIES, or --prometheus URL and either --query PROMQL or --metric NAME"
        raise errors.InputError("forecast", f"expected {expected}")
    result = _run(grid, request)
    if out is not None:
        _write(result, out)
    if output is outputs.Output.JSON:
        outputs.print_json(result.as_json())
    else:
        _print(result, out)
    return 0


def _make_query(
    query: str | None,
    metric: str | None,
    where: list[str],
    access: prometheus_options.PrometheusAccess,
) -> prometheus.Query | None:
    from kubestow.sources import prometheus

    labels = access.matchers()
    if metric is None:
        for option, given in (("--where", where), ("--prometheus-label", labels)):
            if given:
                raise errors.InputError(option, "needs --metric; write matchers into --query")
        return None if query is None else prometheus.raw(query)
    if query is not None:
        raise errors.InputError("--metric", "cannot be combined with --query")
    return prometheus.named(metric, [*map(prometheus.parse_matcher, where), *labels])


def _read(source: Path, column: str | None, step_s: float | None) -> time_series.TimeGrid:
    from kubestow.sources import traces

    chosen = column if column is not None else traces.first_column(source)
    return traces.read_grid(source, (chosen,), step_s=step_s)


def _ask(
    settings: prometheus.PrometheusSettings,
    query: prometheus.Query,
    name: str | None,
    span_s: tuple[float, float],
    step_s: float | None,
) -> time_series.TimeGrid:
    """Read a history: its end, and its length."""
    from kubestow.sources import prometheus

    end_s, range_s = span_s
    with (
        prometheus_options.explaining_clusters(),
        prometheus.PrometheusClient(settings) as client,
        outputs.progress_bar() as bar,
    ):
        task = bar.add_task("reading from Prometheus", total=1.0)
        if query.metric:
            prometheus.refuse_several_clusters(client, query.metric, query.where, end_s, range_s)
        return prometheus.read_history(
            client,
            query.promql,
            end_s,
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
    from kubestow.workflows import forecasting

    with outputs.progress_bar() as bar:
        task = bar.add_task(f"forecasting {grid.names[0]}", total=1.0)

        def watch(name: str, done: float) -> None:
            bar.update(task, completed=done, description=name)

        return forecasting.run(grid, request, clock=time.perf_counter, watch=watch)


def _write(result: forecasting.ForecastResult, out: Path) -> None:
    from kubestow.reports import figures, forecast_page
    from kubestow.workflows import files

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
    from rich import markup

    from kubestow.model import decoding

    console = outputs.console()
    grid, mended = result.grid, result.grid.mended
    step = decoding.format_duration(grid.step_s)
    console.print(
        f"[bold]{markup.escape(grid.names[0])}[/bold]: {grid.values.shape[1]} points, one every "
        f"{step}; {mended.gaps} gaps ({mended.filled} points filled with the "
        f"last value), {mended.merged} rows merged"
    )
    if result.rows:
        console.print(_error_table(result))
        for name, why in result.skipped.items():
            console.print(markup.escape(f"skipped {name}: {why}"))
    ahead = decoding.format_duration(result.steps * grid.step_s)
    console.print(f"next {ahead} by {markup.escape(result.chosen)}{_candidates(result)}:")
    console.print(_forecast_table(result))
    if out is not None:
        console.print(f"written to {out}: report.html, forecast.png, forecast.csv, results.json")


def _candidates(result: forecasting.ForecastResult) -> str:
    if not result.weights:
        return ""
    largest = list(result.weights.items())[:3]
    return f" ({', '.join(f'{name} {100 * share:.0f} %' for name, share in largest)}, ...)"


def _error_table(result: forecasting.ForecastResult) -> Table:
    from rich.table import Column, Table

    from kubestow.reports import forecast_page

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
    from rich.table import Column, Table

    from kubestow.reports import forecast_page

    rows = result.forecast_rows()
    columns = (Column(name, justify="right") for name in list(rows[0])[1:])
    table = Table("time", *columns, box=None, pad_edge=False)
    # Of many steps the first, the last and some between are shown; the JSON has all.
    stride = -(-len(rows) // _LISTED)
    for index in [*range(0, len(rows) - 1, stride), len(rows) - 1]:
        time_text, *numbers = rows[index].values()
        table.add_row(str(time_text), *(forecast_page.text(number) for number in numbers))
    return table
