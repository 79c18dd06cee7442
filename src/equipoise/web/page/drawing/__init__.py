"""Pictures of the page, drawn on the server as SVG that stretches without stretching text.

Places from left to right are percentages, heights are pixels, so a drawing fills its box at every
width and its letters keep their size. Colours come from classes: the style sheet knows both themes.
"""
