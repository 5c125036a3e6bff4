"""ARIMA, GRU and ARIMA-GRU on six groups of series (Shi 2023, tables 5.5 to 5.7)."""
