import unittest

from till.prices import total, with_tax


class TotalTest(unittest.TestCase):
    def test_nothing_costs_nothing(self):
        self.assertEqual(total([]), 0)

    def test_quantities_count(self):
        self.assertEqual(total([(2.5, 2), (1.25, 4)]), 10)


class TaxTest(unittest.TestCase):
    def test_tax_is_added(self):
        self.assertAlmostEqual(with_tax(10), 12)

    def test_a_fraction_of_a_cent_is_kept(self):
        self.assertAlmostEqual(with_tax(0.125, 0), 0.125)
